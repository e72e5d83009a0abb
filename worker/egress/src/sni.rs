//! The host that the first message of TLS names (RFC 8446, RFC 6066): the server answers for that one.

/// The most that a client's first message may take; a larger one is refused.
pub(super) const MAX_HELLO_BYTES: usize = 16 * 1024;

const HANDSHAKE: u8 = 22;
const MAJOR_VERSION: u8 = 3;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// The largest content of a record.
const MAX_RECORD_BYTES: usize = 1 << 14;

/// What a client's first bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// The beginning of a ClientHello.
    Partial,
    /// A whole one, and the host that it names.
    Whole(Option<Vec<u8>>),
    /// Something else, or what could be read in two ways.
    Invalid,
}

/// Reads a ClientHello from the first bytes of a connection.
pub(super) fn read(bytes: &[u8]) -> Hello {
    let read = || {
        let Some(message) = first_message(bytes)? else {
            return Ok(Hello::Partial);
        };
        let name = server_name(&message)?;
        Ok(Hello::Whole(name.map(<[u8]>::to_vec)))
    };
    match read() {
        Ok(Hello::Partial) if bytes.len() >= MAX_HELLO_BYTES => Hello::Invalid,
        Ok(hello) => hello,
        Err(Wrong) => Hello::Invalid,
    }
}

/// The bytes are not what they must be.
struct Wrong;

/// The body of the first handshake message, put together from the records that carry it.
fn first_message(bytes: &[u8]) -> Result<Option<Vec<u8>>, Wrong> {
    let mut records = Reader(bytes);
    let mut message = Vec::new();
    // Each record takes six bytes or more.
    while let Some(record) = next_record(&mut records)? {
        message.extend_from_slice(record);
        if message.first() != Some(&CLIENT_HELLO) {
            return Err(Wrong);
        }
        let Some([_, high, middle, low]) = message.first_chunk() else {
            continue;
        };
        let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
        if length > MAX_HELLO_BYTES {
            return Err(Wrong);
        }
        if let Some(body) = message.get(4..4 + length) {
            return Ok(Some(body.to_vec()));
        }
    }
    Ok(None)
}

/// The content of the next record; `None` if it is not there as a whole.
fn next_record<'a>(records: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Wrong> {
    // What cannot become TLS is known by its first bytes, without a wait for more.
    let begins_well = records
        .0
        .iter()
        .zip([HANDSHAKE, MAJOR_VERSION])
        .all(|(byte, wanted)| *byte == wanted);
    if !begins_well {
        return Err(Wrong);
    }
    let Some([_, _, _, high, low]) = records.0.first_chunk() else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    if length == 0 || length > MAX_RECORD_BYTES {
        return Err(Wrong);
    }
    if records.0.len() < 5 + length {
        return Ok(None);
    }
    records.take(5)?;
    records.take(length).map(Some)
}

fn server_name(hello: &[u8]) -> Result<Option<&[u8]>, Wrong> {
    let mut hello = Reader(hello);
    let _version_and_random = hello.take(2 + 32)?;
    let _session = hello.vector8()?;
    let _ciphers = hello.vector16()?;
    let _compressions = hello.vector8()?;
    if hello.0.is_empty() {
        return Ok(None);
    }
    let mut extensions = Reader(hello.vector16()?);
    hello.end()?;
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number16()?;
        let data = extensions.vector16()?;
        if kind == SERVER_NAME && name.replace(host_name(data)?).is_some() {
            return Err(Wrong);
        }
    }
    Ok(name)
}

/// The one name of the list; the format has room for more, which nobody may send.
fn host_name(data: &[u8]) -> Result<&[u8], Wrong> {
    let mut data = Reader(data);
    let mut list = Reader(data.vector16()?);
    data.end()?;
    if list.take(1)? != [HOST_NAME] {
        return Err(Wrong);
    }
    let name = list.vector16()?;
    list.end()?;
    if name.is_empty() {
        Err(Wrong)
    } else {
        Ok(name)
    }
}

/// Takes bytes from the front, never more than there are.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Wrong> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Wrong)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number16(&mut self) -> Result<u16, Wrong> {
        let (number, rest) = self.0.split_first_chunk().ok_or(Wrong)?;
        self.0 = rest;
        Ok(u16::from_be_bytes(*number))
    }

    /// Bytes after their count in one byte.
    fn vector8(&mut self) -> Result<&'a [u8], Wrong> {
        let count = self.take(1)?[0];
        self.take(usize::from(count))
    }

    /// Bytes after their count in two bytes.
    fn vector16(&mut self) -> Result<&'a [u8], Wrong> {
        let count = self.number16()?;
        self.take(usize::from(count))
    }

    fn end(&self) -> Result<(), Wrong> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Wrong)
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;
    use proptest::prelude::*;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    /// What a TLS client says first to a host of that name, or of none.
    pub(crate) fn client_hello(name: Option<&str>) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        config.enable_sni = name.is_some();
        let name = ServerName::try_from(name.unwrap_or("unsaid.example").to_owned()).unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    /// The same message in records of that size.
    fn in_records(hello: &[u8], size: usize) -> Vec<u8> {
        hello[5..]
            .chunks(size)
            .flat_map(|chunk| {
                let length = u16::try_from(chunk.len()).unwrap().to_be_bytes();
                [&[HANDSHAKE, MAJOR_VERSION, 1], &length[..], chunk].concat()
            })
            .collect()
    }

    fn named(name: &str) -> Hello {
        Hello::Whole(Some(name.as_bytes().to_vec()))
    }

    #[test]
    fn the_name_of_a_real_clients_hello_is_read() {
        let hello = client_hello(Some("github.com"));
        assert_eq!(read(&hello), named("github.com"));
        assert_eq!(read(&client_hello(None)), Hello::Whole(None));
        for size in [1, 3, 50] {
            assert_eq!(read(&in_records(&hello, size)), named("github.com"));
        }
        for cut in 0..hello.len() {
            assert_eq!(read(&hello[..cut]), Hello::Partial, "{cut}");
        }
    }

    #[test]
    fn what_is_no_hello_is_known_by_its_first_bytes() {
        for bytes in [
            &b"G"[..],
            b"SSH-2.0-x",
            b"\x16\x02",
            b"\x16\x03\x01\x00\x00",
            b"\x16\x03\x01\xff\xff",
            b"\x16\x03\x01\x00\x01\x02",
            b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
            b"\x17\x03\x03\x00\x01a",
        ] {
            assert_eq!(read(bytes), Hello::Invalid, "{bytes:?}");
        }
        let endless = [
            &[HANDSHAKE, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xff],
            &[0; MAX_HELLO_BYTES][..],
        ];
        assert_eq!(read(&endless.concat()[..MAX_HELLO_BYTES]), Hello::Invalid);
    }

    #[test]
    fn a_hello_with_two_names_is_invalid() {
        let hello = client_hello(Some("github.com"));
        let needle = b"\x00\x00\x00\x0f\x00\x0d\x00\x00\x0agithub.com";
        let at = hello
            .windows(needle.len())
            .position(|window| window == needle)
            .unwrap();
        // The same extension once more, with all counts around it put right.
        let mut twice = hello.clone();
        twice.splice(at..at, needle.iter().copied());
        let message = hello.len() - 9 + needle.len();
        let record = u16::try_from(message + 4).unwrap().to_be_bytes();
        twice[3..5].copy_from_slice(&record);
        let message = u32::try_from(message).unwrap().to_be_bytes();
        twice[6..9].copy_from_slice(&message[1..]);
        let extensions_at = extensions_at(&hello);
        let all = u16::from_be_bytes([hello[extensions_at], hello[extensions_at + 1]]);
        let all = (usize::from(all) + needle.len()).to_be_bytes();
        twice[extensions_at..extensions_at + 2].copy_from_slice(&all[6..]);
        assert_eq!(read(&twice), Hello::Invalid);
        // Counts that do not fit are no reason to guess.
        let mut long = hello.clone();
        long[at + 8] += 1;
        assert_eq!(read(&long), Hello::Invalid);
    }

    /// Where the count of the extensions' bytes is.
    fn extensions_at(hello: &[u8]) -> usize {
        let session = 9 + 34;
        let ciphers = session + 1 + usize::from(hello[session]);
        let count = u16::from_be_bytes([hello[ciphers], hello[ciphers + 1]]);
        let compressions = ciphers + 2 + usize::from(count);
        compressions + 1 + usize::from(hello[compressions])
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0..500_usize) {
            read(&bytes);
            // Nearly right ones go deeper.
            let mut hello = client_hello(Some("github.com"));
            let end = hello.len();
            let at = at.min(end);
            let until = (at + bytes.len()).min(end);
            hello[at..until].copy_from_slice(&bytes[..until - at]);
            read(&hello);
        }
    }
}
