import { canonicalDnsName } from '../names.ts';
import type { GeneralName } from '../x509/certificate-request.ts';
import { type IssuedClaim, type IssuedGrounds, servingPolicies } from './issued.ts';
import { mayBeControlPlane, proveOwnership } from './rules/ownership.ts';
import { reservedAddress, reservedDnsName } from './rules/reserved-names.ts';
import type { NameProof } from './verdict.ts';

/**
 * Each name of an issued certificate, with its proof or its other owner, by the policy that proves most names. Pure.
 */
export function issuedNames(
  { node, dnsNames, addresses }: Pick<IssuedClaim, 'node' | 'dnsNames' | 'addresses'>,
  { cluster, evidence, policies }: Pick<IssuedGrounds, 'cluster' | 'evidence' | 'policies'>,
): readonly NameProof[] {
  const names: readonly GeneralName[] = [
    ...dnsNames.map((value) => ({ kind: 'dNSName' as const, value })),
    ...addresses.map((value) => ({ kind: 'iPAddress' as const, value })),
  ];
  const mayBe = mayBeControlPlane(node, evidence);
  const isReserved = ({ kind, name }: NameProof) =>
    kind === 'dns'
      ? reservedDnsName(canonicalDnsName(name), cluster, mayBe) !== undefined
      : reservedAddress(name, cluster) !== undefined;
  const [best = []] = servingPolicies({ policies, cluster })
    .map((policy) => proveOwnership(names, node, evidence, policy, cluster).proofs)
    .toSorted((a, b) => provenIn(b) - provenIn(a));
  // No evidence proves a reserved name.
  return best.map((proof) => (isReserved(proof) ? { kind: proof.kind, name: proof.name, proven: false } : proof));
}

function provenIn(proofs: readonly NameProof[]): number {
  return proofs.filter(({ proven }) => proven).length;
}
