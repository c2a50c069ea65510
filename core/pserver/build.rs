//! Makes the messages, server and client of the protocol from its description, if they are wanted.

#[cfg(feature = "net")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/pserver.proto");
    let files = protox::compile(["pserver.proto"], ["proto"])?;
    // Bytes that many messages share are not copied for each.
    let shared = tonic_prost_build::configure().bytes(".");
    shared.compile_fds(files)?;
    Ok(())
}

#[cfg(not(feature = "net"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
