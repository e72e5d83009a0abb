//! Response bodies, decoded within a limit.

use std::io::Write;

use flate2::write::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

use worker_egress::net::explain;

/// The number of bytes that are decoded at once. They expand to at most a thousand times as many.
const PIECE_BYTES: usize = 1024;

/// A decoded response body, up to a maximum size.
pub(super) struct DecodedBody {
    pub(super) bytes: Vec<u8>,
    /// Whether the body was longer than the maximum.
    pub(super) is_cut: bool,
}

/// The decoder of a body.
enum Decoder {
    Plain(Vec<u8>),
    Gzip(MultiGzDecoder<Vec<u8>>),
}

impl DecodedBody {
    /// Reads until the end, or until there are `max` decoded bytes. An error is for the model.
    pub(super) async fn read(mut response: Response, max: usize) -> Result<Self, String> {
        let host = response.url().host_str().unwrap_or_default().to_owned();
        let encoding = response.headers().get(CONTENT_ENCODING);
        let encoding = encoding.map_or(Ok(""), |value| value.to_str());
        let mut decoder = match encoding.unwrap_or("?").trim() {
            "" | "identity" => Decoder::Plain(Vec::new()),
            "gzip" | "x-gzip" => Decoder::Gzip(MultiGzDecoder::new(Vec::new())),
            other => {
                let other: String = other.chars().take(PIECE_BYTES).collect();
                return Err(format!(
                    "{host} compressed its response as `{other}`, although only gzip was requested"
                ));
            }
        };
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| explain(&host, error))?
        {
            for piece in chunk.chunks(PIECE_BYTES) {
                let unpacked = decoder.push(piece);
                let kept = unpacked.map_err(|_| format!("the gzip data of {host} is damaged"))?;
                if kept > max {
                    let mut bytes = decoder.into_bytes();
                    bytes.truncate(max);
                    return Ok(Self {
                        bytes,
                        is_cut: true,
                    });
                }
            }
        }
        Ok(Self {
            bytes: decoder.into_bytes(),
            is_cut: false,
        })
    }
}

impl Decoder {
    /// Adds a piece. Returns the number of decoded bytes so far.
    fn push(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(bytes) => {
                bytes.extend_from_slice(piece);
                Ok(bytes.len())
            }
            Self::Gzip(decoder) => {
                decoder.write_all(piece)?;
                // Flushed, so that bytes in the decoder's buffer are counted too.
                decoder.flush()?;
                Ok(decoder.get_ref().len())
            }
        }
    }

    /// Returns the decoded bytes so far, whether or not the body is complete.
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Plain(bytes) => bytes,
            Self::Gzip(mut decoder) => std::mem::take(decoder.get_mut()),
        }
    }
}
