//! The host name in the first message of a TLS connection.

use rustls::server::Acceptor;

/// The limit of a client's first message. A larger one is refused.
pub(super) const MAX_HELLO_BYTES: usize = 16 * 1024;

/// The first bytes of a ClientHello: a handshake record of TLS, of any version and length, that begins with message 1.
const BEGINNING: [Option<u8>; 6] = [Some(22), Some(3), None, None, None, Some(1)];

/// The result of reading the first bytes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// The beginning of a ClientHello.
    Partial,
    /// A complete ClientHello with the host that it names.
    Complete(Option<String>),
    /// Not a ClientHello, or one that the standard forbids.
    Invalid,
}

/// A reader for a ClientHello that arrives in pieces. It processes each byte once.
#[derive(Default)]
pub(super) struct HelloReader {
    acceptor: Acceptor,
    /// The number of bytes that the acceptor has received.
    read: usize,
}

impl HelloReader {
    /// Reads all bytes of the connection so far. After any result except `Partial`, the reader must not be used again.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Hello {
        // The acceptor waits for a complete record header. This check refuses other protocols without waiting.
        let is_beginning = |(byte, wanted): (&u8, Option<u8>)| wanted.is_none_or(|it| it == *byte);
        if !bytes.iter().zip(BEGINNING).all(is_beginning) {
            return Hello::Invalid;
        }
        let mut rest = &bytes[self.read..];
        self.read = bytes.len();
        while !rest.is_empty() {
            if self.acceptor.read_tls(&mut rest).is_err() {
                return Hello::Invalid;
            }
            match self.acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => {
                    let name = accepted.client_hello().server_name().map(str::to_owned);
                    return Hello::Complete(name);
                }
                Err(_) => return Hello::Invalid,
            }
        }
        if bytes.len() >= MAX_HELLO_BYTES {
            return Hello::Invalid;
        }
        Hello::Partial
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    /// Returns the first message of a TLS client to a host with this name, or without a name.
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

    /// Returns the same message in records of this size.
    fn in_records(hello: &[u8], size: usize) -> Vec<u8> {
        hello[5..]
            .chunks(size)
            .flat_map(|chunk| {
                let length = u16::try_from(chunk.len()).unwrap().to_be_bytes();
                [&[22, 3, 1], &length[..], chunk].concat()
            })
            .collect()
    }

    fn named(name: &str) -> Hello {
        Hello::Complete(Some(name.to_owned()))
    }

    fn read(bytes: &[u8]) -> Hello {
        HelloReader::default().read(bytes)
    }

    /// The result for a client that sends its bytes in several pieces.
    fn read_in_pieces(bytes: &[u8], mut ends: Vec<usize>) -> Hello {
        ends.sort_unstable();
        ends.push(bytes.len());
        let mut reader = HelloReader::default();
        let results = ends.iter().map(|end| reader.read(&bytes[..*end]));
        let mut results = results.skip_while(|hello| *hello == Hello::Partial);
        results.next().unwrap_or(Hello::Partial)
    }

    #[test]
    fn the_name_of_a_real_clients_hello_is_read() {
        let hello = client_hello(Some("github.com"));
        assert_eq!(read(&hello), named("github.com"));
        assert_eq!(read(&client_hello(None)), Hello::Complete(None));
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
    }

    #[test]
    fn a_hello_without_an_end_is_refused_at_the_limit() {
        let one_record = [
            &[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xff][..],
            &[0; MAX_HELLO_BYTES],
        ];
        let one_record = one_record.concat();
        let message = [&[1, 0, 0xff, 0xff][..], &[0; MAX_HELLO_BYTES]].concat();
        let many_records = in_records(&[&[0; 5], &message[..]].concat(), 1);
        for endless in [one_record, many_records] {
            let endless = &endless[..MAX_HELLO_BYTES];
            assert_eq!(read(&endless[..MAX_HELLO_BYTES - 1]), Hello::Partial);
            assert_eq!(read(endless), Hello::Invalid);
            // One byte at a time. A reader that started over each time would take minutes.
            let ends = (0..MAX_HELLO_BYTES).collect();
            assert_eq!(read_in_pieces(endless, ends), Hello::Invalid);
        }
    }

    #[test]
    fn what_follows_a_hello_is_not_read() {
        let mut bytes = client_hello(Some("github.com"));
        // A ChangeCipherSpec message and early data.
        bytes.extend([20, 3, 3, 0, 1, 1]);
        bytes.extend([23, 3, 3, 0x10, 0]);
        bytes.extend([0; 3 * MAX_HELLO_BYTES]);
        assert_eq!(read(&bytes), named("github.com"));
    }

    /// Returns the hello for `github.com` with another name of the same length.
    fn with_name(name: &[u8; 10]) -> Vec<u8> {
        let mut hello = client_hello(Some("github.com"));
        let at = hello
            .windows(10)
            .position(|it| it == b"github.com")
            .unwrap();
        hello[at..at + 10].copy_from_slice(name);
        hello
    }

    #[test]
    fn a_name_that_is_no_host_name_is_invalid_and_an_address_is_no_name() {
        for name in [
            b"evil\0x.com",
            b"evil.com/x",
            b"evil com.x",
            b"e..vil.com",
            b"\xffgithub.io",
        ] {
            assert_eq!(read(&with_name(name)), Hello::Invalid, "{name:?}");
        }
        // RFC 6066 forbids addresses, and servers ignore them.
        assert_eq!(read(&with_name(b"10.10.10.1")), Hello::Complete(None));
    }

    #[test]
    fn a_hello_with_two_names_is_invalid() {
        let hello = client_hello(Some("github.com"));
        let needle = b"\x00\x00\x00\x0f\x00\x0d\x00\x00\x0agithub.com";
        let at = hello
            .windows(needle.len())
            .position(|window| window == needle)
            .unwrap();
        // The same extension once more, with all surrounding lengths adjusted.
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
        // Lengths that do not match are invalid.
        let mut long = hello.clone();
        long[at + 8] += 1;
        assert_eq!(read(&long), Hello::Invalid);
    }

    /// Returns the position of the length of the extensions.
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
            // Almost valid bytes reach more of the code.
            let mut hello = client_hello(Some("github.com"));
            let end = hello.len();
            let at = at.min(end);
            let until = (at + bytes.len()).min(end);
            hello[at..until].copy_from_slice(&bytes[..until - at]);
            read(&hello);
        }

        #[test]
        fn pieces_do_not_change_the_result(
            size in 1..300_usize,
            cuts in proptest::collection::vec(any::<Index>(), 0..20),
            spoilt in proptest::option::of((any::<Index>(), any::<u8>())),
        ) {
            let mut bytes = in_records(&client_hello(Some("github.com")), size);
            if let Some((at, byte)) = spoilt {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let ends = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            prop_assert_eq!(read_in_pieces(&bytes, ends), read(&bytes));
        }
    }
}
