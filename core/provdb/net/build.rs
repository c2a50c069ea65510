//! Generates the protocol's messages, server and client from the `.proto` file.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/provdb.proto");
    let files = protox::compile(["provdb.proto"], ["proto"])?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
