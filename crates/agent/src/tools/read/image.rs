//! Images, which are recognised by their first bytes and sent to the model as they are.

use std::fs::File;
use std::io::{self, Read as _};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::message::Content;
use crate::tools::ToolOutput;

/// How much of a file is needed to recognise an image.
pub(super) const SNIFFED_BYTES: u64 = 4100;

/// The largest image that every provider takes, in bytes of base64.
const MAX_ENCODED_BYTES: u64 = 4_718_592;

const BITMAP: &str = "image/bmp";

/// The MIME type of the image that begins with these bytes, if models know it.
pub(super) fn recognize(beginning: &[u8]) -> Option<&'static str> {
    match beginning {
        // The lossless variant begins like the others, and no model reads it.
        [0xff, 0xd8, 0xff, 0xf7, ..] => None,
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'B', b'M', ..] => is_bitmap(beginning).then_some(BITMAP),
        _ => is_still_png(beginning).then_some("image/png"),
    }
}

pub(super) fn read(mime_type: &str, beginning: Vec<u8>, file: File) -> io::Result<ToolOutput> {
    let omitted = |why: &str| {
        ToolOutput::text(format!("Read image file [{mime_type}]\n[Image omitted: {why}]"))
    };
    if mime_type == BITMAP {
        return Ok(omitted("could not be converted to a supported inline image format."));
    }
    // Three bytes become four.
    let max_bytes = MAX_ENCODED_BYTES / 4 * 3;
    let mut bytes = beginning;
    file.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Ok(omitted("could not be resized below the inline image size limit."));
    }
    let data = BASE64_STANDARD.encode(bytes);
    Ok(ToolOutput {
        content: vec![
            Content::text(format!("Read image file [{mime_type}]")),
            Content::Image { data, mime_type: mime_type.to_owned() },
        ],
        details: None,
    })
}

/// Whether it is a PNG, and not an animated one.
fn is_still_png(bytes: &[u8]) -> bool {
    let Some(mut chunks) = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n") else { return false };
    if !chunks.starts_with(b"\0\0\0\x0dIHDR") {
        return false;
    }
    // A chunk is its length, its name, its content and a checksum. An animation says so before the
    // first content.
    while let Some((length, rest)) = chunks.split_first_chunk::<4>() {
        if rest.starts_with(b"acTL") {
            return false;
        }
        let behind = u32::from_be_bytes(*length) as usize + 8;
        match rest.get(behind..) {
            Some(next) if !rest.starts_with(b"IDAT") => chunks = next,
            _ => return true,
        }
    }
    true
}

/// Whether the header of a bitmap is plausible: a text can begin with the same two letters.
fn is_bitmap(bytes: &[u8]) -> bool {
    let four = |at: usize| {
        let bytes = bytes.get(at..)?.first_chunk::<4>()?;
        Some(u64::from(u32::from_le_bytes(*bytes)))
    };
    let two = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk::<2>()?));
    let check = || {
        let (file_size, pixels, header) = (four(2)?, four(10)?, four(14)?);
        let (planes, depth) = match header {
            12 => (two(22)?, two(24)?),
            40..=124 => (two(26)?, two(28)?),
            _ => return None,
        };
        let is_size_possible = file_size == 0 || file_size >= 26 && pixels < file_size;
        let is_depth_possible = matches!(depth, 1 | 4 | 8 | 16 | 24 | 32);
        Some(is_size_possible && pixels >= 14 + header && planes == 1 && is_depth_possible)
    };
    check().unwrap_or(false)
}
