#!/bin/sh
set -e
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
cp "$here/codec.c" "$here/tuning.h" "${APP:-/app}/"
