import { field, text } from '../../resources/fields.ts';
import { statusAddresses } from '../../resources/status-addresses.ts';
import { type Owner, ownedNames } from './evidence.ts';

/**
 * What a Node says about itself in `status.addresses`. Weak: the kubelet writes it, so a policy opts in. The name of the Node alone
 * proves nothing here. Undefined while the Node is being deleted.
 *
 * Source: core/v1 `NodeAddress`.
 */
export function ownerFromNode(node: unknown): Owner | undefined {
  const name = text(node, 'metadata', 'name');
  if (name === undefined || name === '') return undefined;
  if (field(node, 'metadata', 'deletionTimestamp') != null) return undefined;

  const { dnsNames, internalIps, externalIps } = statusAddresses(node);
  return {
    source: 'node',
    object: `Node ${name}`,
    nodes: [name],
    ...ownedNames(dnsNames, [...internalIps, ...externalIps]),
  };
}
