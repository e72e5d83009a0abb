//! Tests of master keys.

use super::*;

fn keys(current: u8, earlier: &[u8]) -> MasterKeys {
    let text = |byte: &u8| STANDARD.encode([*byte; 32]);
    let earlier: Vec<_> = earlier.iter().map(text).collect();
    MasterKeys::parse(&text(&current), earlier.iter().map(String::as_str)).unwrap()
}

fn name(text: &str) -> SecretName {
    SecretName::parse(text).unwrap()
}

fn value() -> SecretValue {
    SecretValue::parse("correct horse".to_owned()).unwrap()
}

#[test]
fn a_value_comes_back_and_no_two_ciphertexts_are_alike() {
    let (keys, tenant, name) = (keys(1, &[]), TenantId::new(), name("API_KEY"));
    let [one, two] = [(); 2].map(|()| keys.seal(tenant, &name, &value()));
    for sealed in [&one, &two] {
        assert_eq!(
            keys.open(tenant, &name, sealed).unwrap().expose(),
            "correct horse"
        );
        assert_eq!(sealed.key_id, keys.current_id());
    }
    assert_ne!(one.nonce, two.nonce);
    assert_ne!(one.ciphertext, two.ciphertext);
}

#[test]
fn a_row_opens_only_where_it_was_put() {
    let (keys, tenant, name) = (keys(1, &[]), TenantId::new(), name("API_KEY"));
    let sealed = keys.seal(tenant, &name, &value());
    let other_name = SecretName::parse("API_KEY2").unwrap();
    let forged = Some(OpenError::Forged);
    assert_eq!(keys.open(TenantId::new(), &name, &sealed).err(), forged);
    assert_eq!(keys.open(tenant, &other_name, &sealed).err(), forged);

    let other_keys = self::keys(2, &[3]);
    let unknown = other_keys.open(tenant, &name, &sealed).err();
    let key_id = sealed.key_id.clone();
    assert_eq!(unknown, Some(OpenError::UnknownKey { key_id }));
    // A changed key id in the row does not help an attacker.
    let key_id = other_keys.current_id().to_owned();
    let renamed = SealedValue { key_id, ..sealed };
    assert_eq!(other_keys.open(tenant, &name, &renamed).err(), forged);
}

#[test]
fn a_single_bit_that_changed_is_noticed() {
    let (keys, tenant, name) = (keys(1, &[]), TenantId::new(), name("API_KEY"));
    let sealed = keys.seal(tenant, &name, &value());
    let flipped = |bytes: &[u8], bit: usize| {
        let mut bytes = bytes.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    };
    let refuses = |ciphertext: Vec<u8>, nonce: Vec<u8>| {
        let key_id = sealed.key_id.clone();
        let changed = SealedValue {
            ciphertext,
            nonce,
            key_id,
        };
        keys.open(tenant, &name, &changed).err() == Some(OpenError::Forged)
    };
    for bit in 0..sealed.ciphertext.len() * 8 {
        assert!(refuses(
            flipped(&sealed.ciphertext, bit),
            sealed.nonce.clone()
        ));
    }
    for bit in 0..sealed.nonce.len() * 8 {
        assert!(refuses(
            sealed.ciphertext.clone(),
            flipped(&sealed.nonce, bit)
        ));
    }
    for length in 0..sealed.ciphertext.len() {
        assert!(refuses(
            sealed.ciphertext[..length].to_vec(),
            sealed.nonce.clone()
        ));
    }
    assert!(refuses(sealed.ciphertext.clone(), Vec::new()));
}

#[test]
fn an_earlier_key_opens_and_the_current_one_encrypts() {
    let (tenant, name) = (TenantId::new(), name("API_KEY"));
    let old = keys(1, &[]).seal(tenant, &name, &value());
    let rotated = keys(2, &[3, 1]);
    let opened = rotated.open(tenant, &name, &old).unwrap();
    let new = rotated.seal(tenant, &name, &opened);
    assert_eq!(
        keys(2, &[]).open(tenant, &name, &new).unwrap().expose(),
        "correct horse"
    );
    assert!(keys(1, &[]).open(tenant, &name, &new).is_err());
}

#[test]
fn a_key_is_32_bytes_in_base64_and_never_shown() {
    let key = generate_master_key();
    let keys = MasterKeys::parse(&format!(" {key}\n"), []).unwrap();
    let shown = format!("{keys:?}");
    assert!(shown.contains(keys.current_id()) && !shown.contains(&key));
    assert_ne!(key, generate_master_key());
    let short = STANDARD.encode([7; 31]);
    let long = STANDARD.encode([7; 33]);
    for bad in ["", "secret", &short, &long, &key[1..]] {
        let error = MasterKeys::parse(bad, []).unwrap_err();
        assert!(bad.is_empty() || !error.to_string().contains(bad));
        assert!(MasterKeys::parse(&key, [bad]).is_err());
    }
}
