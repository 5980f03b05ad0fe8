import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/**
 * Which addresses may be connected to.
 *
 * - `any`: a person names the server.
 * - `machines`: a cluster names it, and must not name a service of the one that asks: no link-local address (instance metadata), no
 *   unspecified one, no multicast, no loopback.
 * - `machines-and-loopback`: the same for a cluster that runs on this machine.
 */
export type AddressRule = 'any' | 'machines' | 'machines-and-loopback';

const NO_MACHINE = new BlockList();
NO_MACHINE.addSubnet('0.0.0.0', 8, 'ipv4');
NO_MACHINE.addSubnet('169.254.0.0', 16, 'ipv4');
NO_MACHINE.addSubnet('224.0.0.0', 4, 'ipv4');
NO_MACHINE.addSubnet('240.0.0.0', 4, 'ipv4');
NO_MACHINE.addAddress('::', 'ipv6');
NO_MACHINE.addSubnet('fe80::', 10, 'ipv6');
NO_MACHINE.addSubnet('fd00:ec2::', 32, 'ipv6');
NO_MACHINE.addSubnet('ff00::', 8, 'ipv6');

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** An IPv4 address that is spelt as IPv6 is judged as that. */
function isLoopback(address: string): boolean {
  return matches(LOOPBACK, address);
}

/**
 * Where the machines of a cluster may be: on loopback only where its API server is too.
 *
 * @param endpoint host of the API server
 */
export function machineAddresses(endpoint: string): AddressRule {
  return endpoint === 'localhost' || (isIP(endpoint) !== 0 && isLoopback(endpoint))
    ? 'machines-and-loopback'
    : 'machines';
}

/** @param address an address without brackets; what is none is not allowed */
export function isAllowedAddress(address: string, rule: AddressRule): boolean {
  if (isIP(address) === 0) return false;
  if (rule === 'any') return true;
  // A zone names an interface of ours.
  if (address.includes('%') || matches(NO_MACHINE, address)) return false;
  return rule === 'machines-and-loopback' || !isLoopback(address);
}

/** Looks a name up, and finds only addresses that are allowed: what is connected to is what was judged. */
export function allowedLookup(rule: AddressRule): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const allowed = found.filter(({ address }) => isAllowedAddress(address, rule));
      const [first] = allowed;
      if (first === undefined) callback(new ForbiddenAddressError(), []);
      else if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** A name has only addresses that may not be connected to. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
}

function matches(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}
