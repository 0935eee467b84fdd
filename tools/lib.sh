# What the scripts beside this file share; sourced by them, not run.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [ -t 2 ]; then bold=$'\e[1m' red=$'\e[31m' plain=$'\e[0m'; else bold='' red='' plain=''; fi
say() { printf '%s==>%s %s\n' "$bold" "$plain" "$*" >&2; }
die() { printf '%serror:%s %s\n' "$red" "$plain" "$*" >&2; exit 1; }

# What building takes. CLI11, toml++, Boost and llhttp are compiled in; BoringSSL and LMDB are linked.
build_packages=(clang-19 lld-19 llvm-19 libclang-rt-19-dev meson ninja-build ccache pkg-config
  liburing-dev node-llhttp android-libboringssl-dev liblmdb-dev libboost1.81-dev libboost-json1.81-dev
  libxxhash-dev libcli11-dev libtomlplusplus-dev libgtest-dev libgmock-dev libbenchmark-dev)

# Node.js and its npm: any that are there will do, and Debian's npm does not go together with another Node.js.
node_packages() {
  command -v node >/dev/null || echo nodejs
  command -v npm >/dev/null || echo npm
}

# Installs those packages that are missing; asks for nothing.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  command -v apt-get >/dev/null || die "these Debian packages are missing and there is no apt-get to install them: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "these packages are missing, run as root or install them: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  local log; log=$(mktemp)
  { "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1 || { tail -n 5 "$log" >&2; rm -f "$log"; die "apt-get could not install the packages above; the last lines say why"; }
  rm -f "$log"
}

# Unpacks a package into build/packages/NAME, for a program in it that needs no installation (and whose package would
# start a service).
unpack_package() {
  local folder=$top/build/packages/$1 scratch log
  [ ! -d "$folder" ] || return 0
  say "unpacking the package $1"
  scratch=$(mktemp -d) log=$(mktemp)
  (cd "$scratch" && chmod 755 . && { apt-get download "$1" || { apt-get update -qq && apt-get download "$1"; }; } &&
    mkdir -p "$folder.new" && dpkg -x "$1"_*.deb "$folder.new" && mv "$folder.new" "$folder") >"$log" 2>&1 ||
    { tail -n 5 "$log" >&2; rm -rf "$scratch" "$log"; die "the package $1 could not be fetched"; }
  rm -rf "$scratch" "$log"
}

# Configures build/KIND from tools/native/KIND.ini, once.
configure() {
  local folder=$top/build/$1 log
  [ ! -e "$folder/build.ninja" ] || return 0
  say "configuring build/$1"
  log=$(mktemp)
  meson setup --native-file "$top/tools/native/$1.ini" "$folder" "$top" >"$log" 2>&1 ||
    { grep -E 'ERROR' "$log" >&2 || tail -n 5 "$log" >&2; rm -f "$log"; die "meson could not configure build/$1"; }
  rm -f "$log"
}

# build KIND TARGET...: builds what changed in build/KIND.
build() {
  configure "$1"
  say "building build/$1"
  ninja -C "$top/build/$1" "${@:2}" >&2 || die "the build in build/$1 failed; the compiler's message is above"
}
