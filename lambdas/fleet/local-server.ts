import { BlockList, isIP } from 'node:net';

/** Link-local addresses, "this host", and the addresses of the services that EC2 gives an instance. */
const LOCAL = new BlockList();
LOCAL.addSubnet('169.254.0.0', 16, 'ipv4');
LOCAL.addSubnet('0.0.0.0', 8, 'ipv4');
LOCAL.addSubnet('fe80::', 10, 'ipv6');
LOCAL.addSubnet('fd00:ec2::', 32, 'ipv6');
LOCAL.addAddress('::', 'ipv6');

/** Source: EC2 User Guide, "Access instance metadata for an EC2 instance". */
const METADATA_NAME = /^instance-data(?:\.ec2\.internal)?\.?$/i;

/**
 * Whether a host is no API server of another machine but a service of the one that asks, such as instance metadata. A server that
 * somebody else names must not be one.
 *
 * @param host as in a socket: an IPv6 address without brackets
 */
export function isLocalServer(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return METADATA_NAME.test(host);
  // An IPv4 address that is spelt as IPv6 is found too.
  return LOCAL.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
