#!/bin/sh
set -e
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
cp "$here/policy.py" "${APP:-/app}/"
