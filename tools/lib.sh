# Shared by the scripts of this folder, which source it.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [ -t 2 ]; then bold=$'\e[1m' red=$'\e[31m' plain=$'\e[0m'; else bold='' red='' plain=''; fi
say() { printf '%s==>%s %s\n' "$bold" "$plain" "$*" >&2; }
die() { printf '%serror:%s %s\n' "$red" "$plain" "$*" >&2; exit 1; }

# What the service is built with. CLI11, toml++, Boost and llhttp are compiled in; BoringSSL and LMDB are linked, statically in
# a package.
service_packages=(clang-19 lld-19 llvm-19 meson ninja-build ccache pkg-config
  liburing-dev node-llhttp android-libboringssl-dev liblmdb-dev libboost1.81-dev libboost-json1.81-dev
  libxxhash-dev libcli11-dev libtomlplusplus-dev libcurl4-openssl-dev
  esbuild node-chart.js brotli cmark zlib1g-dev)

# The same, and what tests, benchmarks and the helper of a cluster are built with.
build_packages=("${service_packages[@]}" libclang-rt-19-dev libgtest-dev libgmock-dev libbenchmark-dev libnghttp2-dev libpq-dev)

# The client libraries: types of the one for Python are checked, and it is packed.
client_packages=(python3 mypy python3-build python3-setuptools python3-wheel)

# To make packages: dependencies by symbols, BoringSSL from source, and the list of components.
package_packages=(dpkg-dev make binutils xz-utils python3)

# Node.js and npm, if missing: any version works, but Debian's npm conflicts with another Node.js.
node_packages() {
  command -v node >/dev/null || echo nodejs
  command -v npm >/dev/null || echo npm
}

# The version, which meson.build states and nothing else does.
project_version() { sed -n "s/^ *version: '\(.*\)',$/\1/p" "$top/meson.build"; }

as_root=(); [ "$(id -u)" -eq 0 ] || as_root=(sudo)

# Installs the missing packages, without questions.
install_packages() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  command -v apt-get >/dev/null || die "these Debian packages are missing and there is no apt-get to install them: ${missing[*]}"
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
    die "these packages are missing, run as root or install them: apt-get install ${missing[*]}"
  say "installing ${#missing[@]} packages: ${missing[*]}"
  local log; log=$(mktemp)
  { "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1 || { tail -n 5 "$log" >&2; rm -f "$log"; die "apt-get could not install the packages above; the last lines say why"; }
  rm -f "$log"
}

# PostgreSQL for the tests, which start servers of their own: its package would start one too.
install_postgresql() {
  [ ! -e /usr/lib/postgresql/15/bin/initdb ] || return 0
  install_packages postgresql-common
  "${as_root[@]}" sed -i -E 's/^#? *create_main_cluster *=.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
  install_packages postgresql-15
}

# A PostgreSQL that fails over, for the tests: Patroni and etcd would start too if they were installed.
install_patroni() {
  install_postgresql
  install_packages python3-psycopg2 python3-etcd python3-yaml python3-click python3-dateutil python3-prettytable \
    python3-psutil python3-cdiff python3-urllib3 python3-pkg-resources
  unpack_packages "$top/build/patroni" patroni etcd-server
}

# unpack_packages FOLDER PACKAGE...: unpacks programs that would start a service if they were installed.
unpack_packages() {
  local folder=$1 package scratch; shift
  for package; do
    [ ! -e "$folder/.$package" ] || continue
    say "unpacking $package into ${folder#"$top"/}"
    scratch=$(mktemp -d)
    { chmod 755 "$scratch" && cd "$scratch" &&
      { apt-get download -qq "$package" || { "${as_root[@]}" apt-get update -qq && apt-get download -qq "$package"; }; } &&
      mkdir -p "$folder" && dpkg-deb -x "$package"_*.deb "$folder" && touch "$folder/.$package"; } >"$scratch/log" 2>&1 ||
      { tail -n 5 "$scratch/log" >&2; die "$package could not be unpacked; the last lines say why"; }
    cd "$top" && rm -rf "$scratch"
  done
}

# make_relative FOLDER: meson names the sources of a file of several (unity) by absolute paths, which no other checkout has.
make_relative() {
  python3 - "$1" <<'PY'
import os, pathlib, re, sys
for path in pathlib.Path(sys.argv[1]).rglob("*-unity*.cpp"):
    old = path.read_text()
    text = re.sub(r"#include<(/.*)>", lambda found: f'#include "{os.path.relpath(found[1], path.parent)}"', old)
    if text != old:
        path.write_text(text)
PY
}

# configure KIND [OPTION...]: configures build/KIND from tools/native/KIND.ini, once.
configure() {
  local folder=$top/build/$1 log
  [ ! -e "$folder/build.ninja" ] || return 0
  say "configuring build/$1"
  log=$(mktemp)
  mkdir -p "$top/build"
  printf "%s\n" "[binaries]" "c = ['$top/tools/compile', 'clang-19']" "cpp = ['$top/tools/compile', 'clang++-19']" >"$top/build/compilers.ini"
  meson setup --native-file "$top/tools/native/$1.ini" --native-file "$top/build/compilers.ini" "${@:2}" "$folder" "$top" >"$log" 2>&1 ||
    { grep -E 'ERROR' "$log" >&2 || tail -n 5 "$log" >&2; rm -f "$log"; die "meson could not configure build/$1"; }
  rm -f "$log"
}

# run_ninja KIND ARGUMENT...: ninja in build/KIND. A changed meson.build is read first, since that writes absolute paths again,
# and everything would be compiled again.
run_ninja() {
  ninja -C "$top/build/$1" build.ninja >/dev/null || true
  make_relative "$top/build/$1"
  ninja -C "$top/build/$1" "${@:2}"
}

# build KIND TARGET...: builds these targets in build/KIND.
build() {
  configure "$1"
  say "building build/$1"
  run_ninja "$1" "${@:2}" >&2 || die "the build in build/$1 failed; the compiler's message is above"
}
