//! Which addresses a webhook may reach.
//!
//! Whoever writes a profile chooses a URL, and whoever owns a name chooses its addresses; neither shall reach what only this host can.
//! An address is judged by itself and by every IPv4 address inside it. Source: the IANA special-purpose address registries.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far an address is reachable, and what it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// From everywhere.
    Public,
    /// From this host or its network; for profiles with `allow_private_network`.
    Private(&'static str),
    /// By no webhook. The metadata services of clouds, which hand out credentials to whoever asks, live in link-local addresses and a
    /// few others; a profile that is allowed the private network has no business there.
    Never(&'static str),
}

use Reach::{Never, Private, Public};

/// Judges `address`.
pub(super) fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address),
    }
}

const fn of_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        // Azure, Alibaba Cloud, Oracle Cloud; all others are link-local.
        [168, 63, 129, 16] | [100, 100, 100, 200] | [192, 0, 0, 192] => Never("a metadata service"),
        [169, 254, ..] => Never("link-local"),
        [0, ..] => Never("unspecified"),
        [224..=239, ..] => Never("multicast"),
        [255, 255, 255, 255] => Never("broadcast"),
        [127, ..] => Private("loopback"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Private("private"),
        [100, 64..=127, ..] => Private("shared (carrier-grade NAT)"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Private("for documentation"),
        [198, 18 | 19, ..] => Private("for benchmarks"),
        [192, 0, 0, _] | [192, 88, 99, _] | [240..=255, ..] => Private("reserved"),
        _ => Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Reach {
    const METADATA: [Ipv6Addr; 3] = [
        // EC2, EKS, Google Cloud.
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
        Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    ];
    if METADATA.contains(&address) {
        return Never("a metadata service");
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Never("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Private("loopback"),
        // IPv4-compatible, -mapped and -translated, and NAT64 (RFC 4291, 2.5.5; RFC 2765, 2.1; RFC 6052, 2.1).
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        // 6to4 (RFC 3056).
        | [0x2002, high, low, ..] => of_v4(v4(high, low)),
        [0x64, 0xff9b, 1, ..] => of_local_nat64(address),
        // Teredo: a server, and a client behind a NAT whose address is inverted (RFC 4380, 4).
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            of_v4(v4(server_high, server_low)).max(of_v4(v4(!high, !low)))
        }
        [0xfe80..=0xfebf, ..] => Never("link-local"),
        [0xff00..=0xffff, ..] => Never("multicast"),
        [0xfc00..=0xfdff, ..] => Private("unique local"),
        [0xfec0..=0xfeff, ..] => Private("site-local"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Private("for documentation"),
        [0x2001, 2, 0, ..] => Private("for benchmarks"),
        // ORCHIDs (RFC 4843, RFC 7343).
        [0x2001, 0x10..=0x2f, ..] => Private("reserved"),
        [0x2000..=0x3fff, ..] => Public,
        _ => Private("reserved"),
    }
}

/// An address of local-use NAT64 (RFC 8215). How long the prefix in it is, only its operator knows: every place counts in which RFC 6052 (2.2) puts
/// an IPv4 address.
fn of_local_nat64(address: Ipv6Addr) -> Reach {
    const PLACES: [[usize; 4]; 4] = [
        [6, 7, 9, 10],
        [7, 9, 10, 11],
        [9, 10, 11, 12],
        [12, 13, 14, 15],
    ];
    let octets = address.octets();
    PLACES
        .into_iter()
        .map(|place| place.map(|octet| octets[octet]))
        // Such an address is none: what looks like it are the zeros beside another one.
        .filter(|[network, ..]| *network != 0)
        .map(|octets| of_v4(octets.into()))
        .max()
        .unwrap_or(Private("reserved"))
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::Reach::{Never, Private, Public};
    use super::reach;
    use std::net::IpAddr;

    /// What the guard says of each of `addresses`: 'o' public, 'p' private, 'x' never.
    fn verdicts(addresses: &[&str]) -> String {
        let letter = |address: &&str| match reach(address.parse().expect(address)) {
            Public => 'o',
            Private(_) => 'p',
            Never(_) => 'x',
        };
        addresses.iter().map(letter).collect()
    }

    #[test]
    fn public_addresses_and_the_neighbours_of_the_others() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "2a00::1",
        ];
        assert_eq!(verdicts(&public), "o".repeat(public.len()));
    }

    #[test]
    fn private_addresses() {
        let private = [
            "10.0.0.1",
            "127.0.0.1",
            "127.255.255.255",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "198.18.0.1",
            "198.19.255.255",
            "240.0.0.1",
            "255.255.255.254",
            "192.88.99.1",
            "::1",
            "fc00::1",
            "fd12:3456::1",
            "fec0::1",
            "2001:db8::1",
            "3fff::1",
            "2001:2::1",
            "2001:20::1",
            "100::1",
            "5f00::1",
            "4000::1",
            "64:ff9b:1::1",
        ];
        assert_eq!(verdicts(&private), "p".repeat(private.len()));
    }

    #[test]
    fn addresses_for_no_webhook() {
        let never = [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.170.2",
            "169.254.0.1",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "224.0.0.1",
            "239.255.255.255",
            "255.255.255.255",
            "::",
            "fe80::1",
            "febf::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
        ];
        assert_eq!(verdicts(&never), "x".repeat(never.len()));
    }

    #[test]
    fn an_ipv4_address_counts_wherever_local_nat64_may_have_put_it() {
        let place = |address: [u8; 4], at: [usize; 4]| {
            let mut octets = [0; 16];
            octets[..6].copy_from_slice(&[0, 0x64, 0xff, 0x9b, 0, 1]);
            for (octet, place) in address.into_iter().zip(at) {
                octets[place] = octet;
            }
            IpAddr::from(octets)
        };
        // Behind prefixes of 48, 56, 64 and 96 bits; bits 64 to 71 are always zero (RFC 6052, 2.2).
        for at in [
            [6, 7, 9, 10],
            [7, 9, 10, 11],
            [9, 10, 11, 12],
            [12, 13, 14, 15],
        ] {
            assert_eq!(reach(place([8, 8, 8, 8], at)), Public, "{at:?}");
            assert_eq!(
                reach(place([10, 0, 0, 1], at)),
                Private("private"),
                "{at:?}"
            );
            assert_eq!(
                reach(place([169, 254, 169, 254], at)),
                Never("link-local"),
                "{at:?}"
            );
        }
        assert_eq!(
            verdicts(&[
                "64:ff9b:1:abcd::169.254.169.254",
                "64:ff9b:1::",
                "64:ff9b:2::8.8.8.8"
            ]),
            "xpp"
        );
    }

    #[test]
    fn an_ipv4_address_inside_counts() {
        let mapped = [
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "::ffff:0:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:0808:0808::1",
            // Teredo: server 65.54.227.120, client 192.0.2.45 inverted; then a public client.
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:0:4136:e378:8000:63bf:f7f7:f7f7",
        ];
        assert_eq!(verdicts(&mapped), "ooooopo");
        let loopback = [
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "2001:0:7f00:1:0:0:f7f7:f7f7",
        ];
        assert_eq!(verdicts(&loopback), "p".repeat(loopback.len()));
        let metadata = [
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::",
            "2001:0:4136:e378:8000:63bf:5601:5601",
        ];
        assert_eq!(verdicts(&metadata), "x".repeat(metadata.len()));
    }
}
