import { isIP } from 'node:net';

const WIDEST = { 4: 8, 6: 32 } as const;
const IPV4_MAPPED = /^0{80}1{16}/;

/**
 * The problem of an address range in the configuration, or undefined.
 *
 * Ranges wider than /8 (IPv4) and /32 (IPv6) are rejected as typing errors: no owner of nodes has one.
 */
export function cidrProblem(text: string): string | undefined {
  const [, network = '', length = ''] = /^([^/%]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const family = isIP(network);
  const prefix = Number(length);
  if ((family !== 4 && family !== 6) || prefix > (family === 4 ? 32 : 128))
    return 'is not a CIDR; write a network and the length of its prefix, for example 10.0.0.0/16 or fd00:12::/48';
  if (prefix === 0) return 'covers every address; write the networks that are really in use';
  if (prefix < WIDEST[family])
    return `is wider than /${WIDEST[family]}; write the networks that are really in use, one by one`;
  const address = bits(network, family);
  if (family === 6 && IPV4_MAPPED.test(address))
    return 'is IPv4-mapped, which is never compared with IPv4 addresses; write the IPv4 network';
  if (address.slice(prefix).includes('1'))
    return `names a host, not a network; clear the bits after the first ${prefix}, or end it in /${family === 4 ? 32 : 128}`;
  return undefined;
}

/** The address as 32 or 128 binary digits. */
function bits(address: string, family: 4 | 6): string {
  if (family === 4)
    return address
      .split('.')
      .map((octet) => binary(Number(octet), 8))
      .join('');
  // The URL parser (WHATWG) writes every IPv6 address in one form, without embedded IPv4.
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const first = groups(head);
  const last = groups(tail ?? '');
  return [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last]
    .map((group) => binary(Number.parseInt(group, 16), 16))
    .join('');
}

function groups(text: string): readonly string[] {
  return text === '' ? [] : text.split(':');
}

function binary(value: number, width: number): string {
  return value.toString(2).padStart(width, '0');
}
