//! Makes the messages, server and client of the protocol from its description, if they are wanted.

/// Messages that are many and must be quick: those that hold them take their bytes, and `net/wire` codes them by hand,
/// in the same form. Whole models are made too, for its tests.
#[cfg(feature = "net")]
const BY_HAND: [&str; 2] = [
    ".callgrove.pserver.v1.Model",
    ".callgrove.pserver.v1.Moments",
];

/// What descriptions of protocols call the type `bytes`.
#[cfg(feature = "net")]
const BYTES: i32 = 12;

#[cfg(feature = "net")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/pserver.proto");
    let mut files = protox::compile(["pserver.proto"], ["proto"])?;
    let messages = files.file.iter_mut().flat_map(|it| &mut it.message_type);
    let holders = messages.filter(|message| message.name() != "Model");
    for field in holders.flat_map(|message| &mut message.field) {
        if BY_HAND.contains(&field.type_name()) {
            field.r#type = Some(BYTES);
            field.type_name = None;
        }
    }
    tonic_prost_build::configure()
        .bytes(".")
        .compile_fds(files)?;
    Ok(())
}

#[cfg(not(feature = "net"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
