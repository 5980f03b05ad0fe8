import { canonicalAddress } from '../../../lambdas/names.ts';
import type { HandshakeResult, HandshakeTarget } from '../../../lambdas/tls/handshake.ts';

/** The names of what a server showed. */
export interface ShownNames {
  /** Of the first certificate, DNS names first; absent where none could be read. */
  readonly names?: readonly string[];
  /** Whether what was asked for was looked for among them: a name is; an address only counts where it is one of them. */
  readonly nameChecked?: boolean;
}

/** Pure. What a mismatch is, `nameMismatch` says; an address that is not there is none, since whoever probes one usually has no name. */
export function namesOf({ host, serverName }: HandshakeTarget, result: HandshakeResult): ShownNames {
  const first = result.ok ? result.chain[0] : undefined;
  if (first?.ok !== true) return {};
  const { dnsNames, addresses } = first.certificate;
  const address = serverName === undefined ? canonicalAddress(host) : undefined;
  return { names: [...dnsNames, ...addresses], nameChecked: address === undefined || addresses.includes(address) };
}
