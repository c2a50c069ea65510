//! The content encodings that a browser accepts.

use axum::http::{HeaderMap, header};

/// Encodings of a file, the best first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Encoding {
    Brotli,
    Gzip,
    Identity,
}

impl Encoding {
    /// Returns the best encoding that the client accepts (RFC 9110, section 12.5.3); `None` if it accepts none.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let offers: Vec<(String, bool)> = headers
            .get_all(header::ACCEPT_ENCODING)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(offer)
            .collect();
        let says = |name: &str| {
            let mut named = offers.iter().filter(|(offered, _)| offered == name);
            named.next().map(|(_, takes)| *takes)
        };
        let any = says("*");
        let takes = |name: &str| says(name).or(any);
        if takes("br") == Some(true) {
            Some(Self::Brotli)
        } else if takes("gzip") == Some(true) {
            Some(Self::Gzip)
        } else {
            // Without a refusal the unencoded form is acceptable.
            (takes("identity") != Some(false)).then_some(Self::Identity)
        }
    }

    /// Returns the value of the `Content-Encoding` header.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }
}

/// Returns a name and whether it is accepted: `br;q=0` refuses.
fn offer(text: &str) -> (String, bool) {
    let (name, parameter) = text.split_once(';').unwrap_or((text, ""));
    let quality = parameter.trim().strip_prefix("q=");
    let takes = quality.is_none_or(|quality| quality.trim().parse::<f32>().is_ok_and(|q| q > 0.0));
    (name.trim().to_ascii_lowercase(), takes)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_best_accepted_encoding_is_chosen() {
        for (accepted, chosen) in [
            ("gzip, deflate, br, zstd", Some(Encoding::Brotli)),
            ("br;q=0, GZIP;q=0.5", Some(Encoding::Gzip)),
            ("*", Some(Encoding::Brotli)),
            ("*;q=0, gzip", Some(Encoding::Gzip)),
            ("deflate", Some(Encoding::Identity)),
            ("", Some(Encoding::Identity)),
            ("br;q=x", Some(Encoding::Identity)),
            ("identity;q=0", None),
            ("*;q=0", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(Encoding::of(&headers), chosen, "{accepted}");
        }
        assert_eq!(Encoding::of(&HeaderMap::new()), Some(Encoding::Identity));
    }
}
