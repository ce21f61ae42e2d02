#!/bin/sh
# One pass over the bytes, open addressing: see groupby.c beside this script.
set -e
cp "$(dirname "$0")/groupby.c" "$(dirname "$0")/flags.txt" "${APP_DIR:-/app}/"
