#!/usr/bin/env bash
# Runs the test with the Python that tools/setup made, or with ACCEL_PYTHON.
set -euo pipefail
home="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
exec "${ACCEL_PYTHON:-$home/.cache/accel/venv/bin/python}" "$@"
