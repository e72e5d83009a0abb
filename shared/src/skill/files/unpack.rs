//! Unpacking of uploaded and stored archives.

use super::{Files, FilesError, FilesRefusal, MAX_PACKED_BYTES, tar, zip};

impl Files {
    /// Unpacks a ZIP archive or a tar.gz in memory. Also returns the name of the single top-level folder, if there is
    /// one. Blocking; the duration depends on the archive, within the size limits.
    pub fn unpack(packed: &[u8]) -> Result<(Option<String>, Self), FilesError> {
        if packed.len() > MAX_PACKED_BYTES {
            return Err(FilesError::of_all(FilesRefusal::PackedTooLarge));
        }
        let files = match packed {
            [0x1f, 0x8b, ..] => tar::unpack_gzip(packed),
            [b'P', b'K', ..] => zip::unpack(packed),
            _ => Err(FilesError::of_all(FilesRefusal::NotAnArchive)),
        }?;
        files.rooted()
    }

    /// Unpacks an archive in the canonical form for storage.
    pub fn unpack_stored(packed: &[u8]) -> Result<Self, FilesError> {
        tar::unpack(packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_archive_is_refused_as_such() {
        for bytes in [&b""[..], b"x", b"---\nname: a\n---\n"] {
            let error = Files::unpack(bytes).unwrap_err();
            assert_eq!(error.refusal, FilesRefusal::NotAnArchive);
        }
        for broken in [
            &b"\x1f\x8b"[..],
            b"\x1f\x8b\x08\0\0\0\0\0\0\0garbage",
            b"PK\x03\x04",
            b"PK",
        ] {
            let error = Files::unpack(broken).unwrap_err();
            assert!(matches!(error.refusal, FilesRefusal::Broken(_)), "{error}");
        }
        let large = vec![0x1f; MAX_PACKED_BYTES + 1];
        let error = Files::unpack(&large).unwrap_err();
        assert_eq!(error.refusal, FilesRefusal::PackedTooLarge);
    }
}
