//! The page as files in a folder, for any web server.

use std::fmt::Write as _;

use super::file::unpacked;
use super::{INDEX, PageError, PageFile};

/// Returns names and contents of the page's files. The page opens the last of the files `opened`, which are in the same
/// folder, and lists the others. A trace is opened with `function` as the root.
///
/// # Errors
/// If there are no files, no index, or a damaged file.
pub fn folder_files(
    files: Vec<PageFile>,
    opened: &[String],
    function: Option<&str>,
) -> Result<Vec<(String, Vec<u8>)>, PageError> {
    if files.is_empty() {
        return Err(PageError::Missing);
    }
    if !files.iter().any(|file| file.name == INDEX) {
        return Err(PageError::NoIndex);
    }
    let unpack = |file: PageFile| {
        let mut content = unpacked(&file.gzip).ok().ok_or(PageError::Damaged)?;
        if file.name == INDEX {
            content = with_opened(&content, opened, function)?;
        }
        Ok((file.name, content))
    };
    files.into_iter().map(unpack).collect()
}

/// Adds `<meta>` elements to the index that name the files to open.
fn with_opened(
    index: &[u8],
    opened: &[String],
    function: Option<&str>,
) -> Result<Vec<u8>, PageError> {
    let index = std::str::from_utf8(index).ok().ok_or(PageError::Damaged)?;
    let (head, rest) = index.split_once("</head>").ok_or(PageError::Damaged)?;
    let mut html = head.to_owned();
    for (name, text) in [
        (
            "callgrove-open",
            (!opened.is_empty()).then(|| opened.join(" ")),
        ),
        ("callgrove-function", function.map(str::to_owned)),
    ] {
        if let Some(text) = text {
            let text = text.replace('&', "&amp;").replace('"', "&quot;");
            // Writing to a string cannot fail.
            writeln!(html, "<meta name=\"{name}\" content=\"{text}\">").ok();
        }
    }
    Ok(format!("{html}</head>{rest}").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_names_the_files_to_open() {
        let index = b"<html><head>\n<title>x</title>\n</head><body></body></html>";
        let opened = ["run.callgrove".to_owned()];
        let html = with_opened(index, &opened, Some("operator\"&\"<int>")).unwrap();
        assert_eq!(
            String::from_utf8(html).unwrap(),
            "<html><head>\n<title>x</title>\n<meta name=\"callgrove-open\" content=\"run.callgrove\">\n\
             <meta name=\"callgrove-function\" content=\"operator&quot;&amp;&quot;<int>\">\n\
             </head><body></body></html>"
        );
        assert_eq!(with_opened(index, &[], None).unwrap(), index);
        assert_eq!(with_opened(b"<html>", &[], None), Err(PageError::Damaged));
    }
}
