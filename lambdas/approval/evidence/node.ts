import { readNode } from '../../resources/node.ts';
import { type Owner, ownedNames } from './evidence.ts';

/**
 * What a Node reports in `status.addresses`. Weak: the kubelet writes it, so a policy opts in. The name of the Node
 * alone proves nothing here. A Node being deleted is not live: its machine may serve at its addresses until it is gone.
 *
 * Source: core/v1 `NodeAddress`.
 */
export function ownerFromNode(object: unknown): Owner | undefined {
  const node = readNode(object);
  if (node === undefined) return undefined;
  const { name, addresses, deleting } = node;
  const { dnsNames, internalIps, externalIps } = addresses;
  return {
    source: 'node',
    object: `Node ${name}`,
    nodes: [name],
    ...ownedNames(dnsNames, [...internalIps, ...externalIps]),
    notLive: deleting ? 'is being deleted' : undefined,
  };
}
