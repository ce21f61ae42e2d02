#!/bin/sh
# Bit planes, 64 cells to a word: see moss.c beside this script.
set -e
cp "$(dirname "$0")/moss.c" "$(dirname "$0")/flags.txt" "${APP_DIR:-/app}/"
