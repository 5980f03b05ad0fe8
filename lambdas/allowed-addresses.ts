import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction, SocketAddress } from 'node:net';

/**
 * Which addresses may be connected to, in any notation. Never instance metadata of a cloud, link-local, unspecified or
 * multicast addresses.
 *
 * - `cluster`: other machines only: naming a server must not reach a service on this machine. Deployed code uses this
 * rule.
 * - `local`: loopback too, for a kubeconfig or endpoint that a person enters.
 */
export type AddressRule = 'cluster' | 'local';

type Subnet = readonly [address: string, prefix: number];

/** Not an address of a machine (RFC 6890), or the metadata service of a cloud. */
const REFUSED_IPV4: readonly Subnet[] = [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  // Oracle Cloud has 192.0.0.192.
  ['192.0.0.0', 24],
  // Alibaba Cloud; the rest of 100.64.0.0/10 has machines.
  ['100.100.100.200', 32],
  // Azure.
  ['168.63.129.16', 32],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

const REFUSED_IPV6: readonly Subnet[] = [
  // Unspecified, and IPv4-compatible (RFC 4291 §2.5.5.1). Loopback is checked earlier.
  ['::', 96],
  // NAT64 with a local prefix (RFC 8215): it may embed any IPv4 address at several positions.
  ['64:ff9b:1::', 48],
  // Teredo (RFC 4380).
  ['2001::', 32],
  ['fe80::', 10],
  ['ff00::', 8],
  // Amazon EC2, Google Cloud, Oracle Cloud, Scaleway.
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128],
  ['fd00:c1::a9fe:a9fe', 128],
  ['fd00:42::42', 128],
];

const LOOPBACK_IPV4: Subnet = ['127.0.0.0', 8];

/** IPv6 notations that embed an IPv4 address. A BlockList knows `::ffff:a.b.c.d` itself. */
const EMBEDDINGS: readonly ((subnet: Subnet) => Subnet)[] = [
  // NAT64 (RFC 6052 §2.1).
  ([address, prefix]) => [`64:ff9b::${address}`, 96 + prefix],
  // IPv4-translated (RFC 2765 §2.1).
  ([address, prefix]) => [`::ffff:0:${address}`, 96 + prefix],
  // 6to4 (RFC 3056 §2).
  ([address, prefix]) => [
    `2002:${Buffer.from(address.split('.').map(Number)).toString('hex').replace(/^.{4}/, '$&:')}::`,
    16 + prefix,
  ],
];

const NO_MACHINE = new BlockList();
for (const [address, prefix] of REFUSED_IPV4) NO_MACHINE.addSubnet(address, prefix, 'ipv4');
for (const [address, prefix] of REFUSED_IPV6) NO_MACHINE.addSubnet(address, prefix, 'ipv6');
for (const embed of EMBEDDINGS)
  for (const subnet of [...REFUSED_IPV4, LOOPBACK_IPV4]) NO_MACHINE.addSubnet(...embed(subnet), 'ipv6');

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet(...LOOPBACK_IPV4, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** An IPv4 address in IPv6 notation is judged as IPv4. */
function isLoopback(address: string): boolean {
  return matches(LOOPBACK, address);
}

/**
 * The rule for machines of a cluster: loopback only if the API server itself is on loopback and allowed there.
 *
 * @param server URL of the API server
 * @param addresses the rule by which it is reached. @default cluster
 */
export function machineAddresses({
  server,
  addresses = 'cluster',
}: {
  readonly server: string;
  readonly addresses?: AddressRule;
}): AddressRule {
  if (addresses === 'cluster' || !URL.canParse(server)) return 'cluster';
  const host = new URL(server).hostname.replaceAll(/[[\]]/g, '');
  return host === 'localhost' || (isIP(host) !== 0 && isLoopback(host)) ? 'local' : 'cluster';
}

/** @param address without brackets; anything else is not allowed */
export function isAllowedAddress(address: string, rule: AddressRule): boolean {
  if (isIP(address) === 0) return false;
  // A zone names an interface of this machine.
  if (address.includes('%')) return false;
  if (isLoopback(address)) return rule === 'local';
  const inner = isatapAddress(address);
  return !matches(NO_MACHINE, address) && (inner === undefined || isAllowedAddress(inner, 'cluster'));
}

/** The IPv4 address in an address of ISATAP (RFC 5214 §6.1), which any prefix may begin. */
function isatapAddress(address: string): string | undefined {
  if (isIP(address) === 4) return undefined;
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address;
  if (canonical.endsWith(':5efe::')) return '0.0.0.0';
  const [, high, low] = /:5efe:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(canonical) ?? [];
  if (high === undefined || low === undefined) return undefined;
  return [...Buffer.from(high.padStart(4, '0') + low.padStart(4, '0'), 'hex')].join('.');
}

/**
 * Resolves a name for a socket, so the checked address is the one connected to, at each connection. A name with any
 * disallowed address is rejected: no cluster has one by accident, and a connection that works every other time would
 * hide it.
 */
export function allowedLookup(rule: AddressRule): LookupFunction {
  return (hostname, options, callback) => {
    sharedLookup(hostname, options, (error, found) => {
      const [first] = found;
      const forbidden = found.find(({ address }) => !isAllowedAddress(address, rule));
      if (error !== null) callback(error, []);
      else if (first === undefined || forbidden !== undefined)
        callback(new ForbiddenAddressError(hostname, forbidden?.address ?? 'no address'), []);
      else if (options.all === true) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}

/** All addresses of a name; none if it does not resolve in two seconds: a sweep has more to do. */
export async function addressesOf(name: string): Promise<readonly string[]> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve([]), 2_000);
    sharedLookup(name, {}, (_error, found) => {
      clearTimeout(timer);
      resolve(found.map(({ address }) => address));
    });
  });
}

type Found = (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void;

const waiting = new Map<string, Found[]>();

/**
 * One look-up at a time of each name, however many sockets wait for it: each takes one of few threads, which other
 * clusters need, for as long as the name servers of one cluster are silent.
 */
function sharedLookup(hostname: string, { family, hints }: LookupOptions, found: Found): void {
  const key = JSON.stringify([hostname, family, hints]);
  const all = waiting.get(key);
  if (all !== undefined) return void all.push(found);
  const first = [found];
  waiting.set(key, first);
  lookup(hostname, { family, hints, all: true }, (error, addresses) => {
    waiting.delete(key);
    for (const one of first) one(error, error === null ? addresses : []);
  });
}

/** A host is, or a name resolves to, a disallowed address. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
  readonly host: string;
  readonly address: string;

  constructor(host: string, address: string) {
    super(
      host === address
        ? `${host} may not be connected to`
        : `${host} leads to ${address}, which may not be connected to`,
    );
    this.host = host;
    this.address = address;
  }
}

function matches(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}
