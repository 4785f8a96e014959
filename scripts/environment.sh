# The Python environment of this checkout. Sourced by ./freki and ./test, which set `checkout`.
#
# Its stamp says what it was built on and from: the interpreter, then a checksum for each lock file.
# To compare them costs one short process and no start of Python. A build empties the stamp first
# and writes it last, so whatever was interrupted is built again. The stamp is also the file that
# builders lock: the kernel gives the lock back however a builder ends.

stamp_name=freki.stamp

# prepare_environment LOCK...: sets `environment` to a folder that has all that the last LOCK lists.
# The LOCKs before it are contained in it.
prepare_environment() {
  local wanted
  wanted=$(cd "$checkout" && cksum "$@")
  environment=$checkout/.venv
  if is_ready "$wanted"; then return; fi
  if ! is_ours_to_build; then
    environment=${XDG_CACHE_HOME:-~/.cache}/freki/$(cksum <<<"$checkout" | tr ' ' -)
    # Without it, every call would compile the sources of a read-only checkout again.
    export PYTHONPYCACHEPREFIX=${PYTHONPYCACHEPREFIX-$environment/pycache}
  fi
  if is_ready "$wanted"; then return; fi
  build "$wanted" "$checkout/${!#}"
}

# Compiles what is written in C, where that is possible: Freki works without, and crawls slower.
# Where it failed an empty file says so, and it is not tried again before a source has changed.
prepare_native() {
  local native=$checkout/src/freki/native source
  for source in "$native"/*.[ch] "$checkout/scripts/native.py"; do
    [[ $native/reader.so -nt $source ]] || break
  done
  if [[ $native/reader.so -nt $source || ! -w $native ]] || ! has "${CC:-cc}"; then return; fi
  if "$environment/bin/python" "$checkout/scripts/native.py" 2>/dev/null; then return; fi
  rm -f "$native/reader.so" # a crawl that runs keeps the one it has
  : >"$native/reader.so"
}

# An upgrade of the system may leave an environment whose python is gone, or is another version.
is_ready() {
  local interpreter='' built=''
  [[ -r $environment/$stamp_name ]] || return 1
  { read -r interpreter; read -r -d '' built; } <"$environment/$stamp_name"
  [[ $built == "$1"* && $environment/bin/python -ef $interpreter ]]
}

# A .venv without our stamp was made by somebody else, who keeps it.
is_ours_to_build() {
  if [[ -e $environment/pyvenv.cfg ]]; then
    [[ -w $environment/$stamp_name ]]
  else
    [[ -w $checkout ]]
  fi
}

build() (
  exec </dev/null # what is piped into Freki is not for pip
  if ! has uv; then require_python; fi
  mkdir -p "$environment" 2>/dev/null ||
    fail "Freki needs a folder it can write its environment to: $checkout, or $environment."
  cd "$environment"
  exec 9>>"$stamp_name"
  wait_for_other_builders
  if is_ready "$1"; then return; fi
  : >"$stamp_name"
  find . -mindepth 1 ! -path "./$stamp_name" -delete
  if has uv; then build_with_uv "$2"; else build_with_pip "$2"; fi
  printf '%s\n' "$(readlink -f bin/python)" "$1" >"$stamp_name"
)

has() {
  command -v "$1" >/dev/null
}

require_python() {
  local version
  has python3 ||
    fail "Freki needs Python 3.11 or newer: install it, on Debian or Ubuntu with: apt-get install python3 python3-venv"
  version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2]); sys.exit(sys.version_info < (3, 11))') ||
    fail "Freki needs Python 3.11 or newer, and python3 is ${version:-broken}: install a newer one, or uv, which brings its own."
}

# macOS has no flock program; a lock that python takes on our open file stays ours when it ends.
wait_for_other_builders() {
  if has flock; then
    flock -n 9 || {
      echo "Waiting for another call that prepares Freki's environment …" >&2
      flock 9
    }
  else
    python3 -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)'
  fi
}

build_with_uv() {
  announce
  quietly uv venv --allow-existing --no-project --python '>=3.11' .
  quietly uv pip install --python bin/python --require-hashes --no-deps --compile-bytecode -r "$1"
}

# In two steps, because Debian's python3 has venv but, without python3-venv, no pip to put into it.
build_with_pip() {
  if ! { python3 -m venv --without-pip . && bin/python -c 'from ensurepip import version'; } &>/dev/null; then
    fail "Freki needs Python's venv module to prepare its environment: install it, on Debian or Ubuntu with: apt-get install python3-venv"
  fi
  announce
  quietly bin/python -Im ensurepip
  quietly bin/python -Im pip install --require-hashes --no-deps --no-input \
    --disable-pip-version-check -r "$1"
}

announce() {
  echo "Preparing Freki's environment, once …" >&2
}

quietly() {
  local output
  output=$("$@" 2>&1) || {
    printf '%s\n' "$output" >&2
    fail "Freki's environment could not be prepared, for the reason above; the next call tries again."
  }
}

fail() {
  echo "$1" >&2
  exit 1
}
