#!/bin/sh
exec python3 -I -B "$(dirname "$0")/verify.py"
