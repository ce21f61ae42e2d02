#!/bin/sh
# Skyline best fit and local search: see shelves.py beside this script.
set -e
cp "$(dirname "$0")/shelves.py" "${APP_DIR:-/app}/shelves.py"
