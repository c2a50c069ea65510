//! Generates the protocol's messages, server and client from the `.proto` file.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/pserver.proto");
    let files = protox::compile(["pserver.proto"], ["proto"])?;
    // These fields are shared by many messages; as `Bytes` they are not copied for each.
    let shared = [
        "Contribution.models",
        "SyncReply.models",
        "TreeModel.model",
        "ModelBlock.models",
    ];
    let shared = shared.map(|field| format!(".callgrove.pserver.v1.{field}"));
    let mut messages = tonic_prost_build::configure();
    for field in shared {
        messages = messages.bytes(field);
    }
    messages.compile_fds(files)?;
    Ok(())
}
