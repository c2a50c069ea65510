#!/usr/bin/env bash
# Builds the standard library for wasm32-unknown-unknown with the installed compiler, from Debian's sources of the same
# release, and prints its sysroot. For machines where rustup cannot fetch the target. It takes half a minute on two
# cores, and nothing if FOLDER is ready.
# usage: wasm-std.sh FOLDER
set -euo pipefail

folder=$(realpath -m "${1:?usage: wasm-std.sh FOLDER}")
target=wasm32-unknown-unknown
release=$(rustc --version | cut -d ' ' -f 2)
sysroot=$folder/sysroot-$release
if [ -e "$sysroot/ready" ]; then
    echo "$sysroot"
    exit
fi

# Unpacks Debian's rust-src of exactly this release without installing it: a separate apt configuration uses the suite
# with new releases, at the machine's own mirror.
fetch_sources() {
    local mirror package
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
        awk '/\/debian\/?$/ && !found { print; found = 1 }')
    [ -n "$mirror" ] || { echo "no Debian mirror in apt's sources" >&2; return 1; }
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie-backports main" \
        > "$folder/apt/sources.list"
    local options=(
        -o "Dir::Etc::SourceList=$folder/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt/cache" -o APT::Sandbox::User=root
    )
    apt-get "${options[@]}" update -qq >&2
    package=$(apt-cache "${options[@]}" madison rust-src |
        awk -v release="$release+" 'index($3, release) == 1 && !found { print $3; found = 1 }')
    [ -n "$package" ] || { echo "Debian has no rust-src $release" >&2; return 1; }
    (cd "$folder" && apt-get "${options[@]}" download -qq "rust-src=$package" >&2)
    dpkg-deb -x "$folder"/rust-src_"$release"*.deb "$folder/src.partial"
    rm -rf "$folder/src"
    mv "$folder/src.partial" "$folder/src"
}

sources=$folder/src/usr/src/rustc-$release/library
mkdir -p "$folder"
[ -d "$sources" ] || fetch_sources

# The compiler accepts its own standard library's unstable features only with the bootstrap switch. The remapped prefix
# gives panics the same paths as in the released library.
commit=$(rustc --version --verbose | sed -n 's/^commit-hash: //p')
RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$folder/target \
    RUSTFLAGS="-Zforce-unstable-if-unmarked -Cembed-bitcode=yes --remap-path-prefix=$sources=/rustc/$commit/library" \
    cargo build --quiet --locked --release --target $target --manifest-path "$sources/sysroot/Cargo.toml" \
    --features panic-unwind,backtrace --config 'profile.release.codegen-units=1' >&2

# A sysroot has the target's libraries, and the host's for build scripts and for the linker.
host=$(rustc --version --verbose | sed -n 's/^host: //p')
mkdir -p "$sysroot/lib/rustlib/$target/lib"
cp "$folder/target/$target/release/deps/"*.rlib "$sysroot/lib/rustlib/$target/lib/"
rm -f "$sysroot/lib/rustlib/$target/lib/"libsysroot-*.rlib
ln -sfn "$(rustc --print sysroot)/lib/rustlib/$host" "$sysroot/lib/rustlib/$host"
touch "$sysroot/ready"
echo "$sysroot"
