import { Refused } from './refused.ts';

/** The longest object identifier in common use has about 20 octets. */
const MAX_OCTETS = 64;

/**
 * Dotted form of the content of an OBJECT IDENTIFIER, of whatever size its arcs are: those below 2.25 have 128 bits. A request's are read by
 * `DerReader.objectIdentifier`, which takes no more than a signer does.
 */
export function oidText(octets: Buffer, what: string): string {
  if (octets.length === 0 || octets.length > MAX_OCTETS)
    throw new Refused('NotDer', `${what}: an OBJECT IDENTIFIER of ${octets.length} octets`);
  let dotted = '';
  let arc = 0;
  let start = 0;
  for (let at = 0; at < octets.length; at++) {
    const octet = octets[at] ?? 0;
    if (at === start && octet === 0x80) throw new Refused('NotDer', `${what}: an arc in non-minimal form`);
    arc = arc * 128 + (octet & 0x7f);
    if (octet >= 0x80) continue;
    const exact = arc <= Number.MAX_SAFE_INTEGER ? arc : bigArc(octets.subarray(start, at + 1));
    // The first two arcs share one number (X.690 §8.19.4).
    if (dotted !== '') dotted += `.${exact}`;
    else if (arc >= 80) dotted = `2.${typeof exact === 'bigint' ? exact - 80n : exact - 80}`;
    else dotted = arc < 40 ? `0.${arc}` : `1.${arc - 40}`;
    arc = 0;
    start = at + 1;
  }
  if (start !== octets.length) throw new Refused('NotDer', `${what}: the last arc is cut short`);
  return dotted;
}

function bigArc(octets: Buffer): bigint {
  return octets.reduce((sum, octet) => (sum << 7n) | BigInt(octet & 0x7f), 0n);
}
