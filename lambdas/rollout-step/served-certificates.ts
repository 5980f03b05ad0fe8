import { type AddressRule, machineAddresses } from '../probe/allowed-addresses.ts';
import type { HandshakeResult } from '../probe/handshake.ts';
import type { handshakes } from '../probe/handshakes.ts';
import type { ObservedMachine, Served } from '../rollout/observed.ts';
import type { Certificate } from '../x509/certificate.ts';

/** A machine may have addresses that lead nowhere from here. */
const MOST_ADDRESSES = 3;

export interface Serving {
  readonly port: number;
  /**
   * It has to show that it has the private key. A server that demands a certificate of its client may end the handshake before it did.
   */
  readonly proof: boolean;
  readonly addresses: AddressRule;
  readonly signal: AbortSignal;
}

/** What machines show, and the authorities that they send along. */
export interface ServedCertificates {
  readonly machines: readonly ObservedMachine[];
  readonly authorities: readonly Certificate[];
}

/** Which addresses of machines may be connected to: on loopback only where the management cluster is there too. */
export function addressRuleOf(server: string): AddressRule {
  return machineAddresses(URL.canParse(server) ? new URL(server).hostname.replaceAll(/[[\]]/g, '') : '');
}

/**
 * Shakes hands with each machine, at its first address that answers.
 *
 * @param shake undefined where the machines are not reached: then `served` stays `none`
 */
export async function servedCertificates(
  machines: readonly ObservedMachine[],
  shake: typeof handshakes | undefined,
  { port, proof, addresses, signal }: Serving,
): Promise<ServedCertificates> {
  if (shake === undefined) return { machines, authorities: [] };
  const seen = new Map<ObservedMachine, Served>();
  const authorities: Certificate[] = [];
  for (let turn = 0; turn < MOST_ADDRESSES; turn += 1) {
    const asked = machines.flatMap((machine) => {
      const host = machine.addresses[turn];
      return host === undefined || seen.get(machine)?.kind === 'certificate' ? [] : [{ machine, host }];
    });
    if (asked.length === 0) break;
    const results = await shake(
      asked.map(({ host }) => ({ host, port })),
      { addresses, signal },
    );
    for (const [index, { machine, host }] of asked.entries()) {
      const result = results[index];
      if (result === undefined) continue;
      const served = servedOf(result, host, proof);
      if (served.kind === 'certificate' || !seen.has(machine)) seen.set(machine, served);
      if (served.kind === 'certificate') authorities.push(...authoritiesOf(result));
    }
  }
  return {
    machines: machines.map((machine) => ({ ...machine, served: seen.get(machine) ?? unaddressed(machine) })),
    authorities,
  };
}

function servedOf(result: HandshakeResult, address: string, proof: boolean): Served {
  if (!result.ok) {
    const { message, remedy } = result.failure;
    return { kind: 'failed', address, problem: message, remedy };
  }
  const [leaf] = result.chain;
  if (leaf?.ok !== true)
    return {
      kind: 'failed',
      address,
      problem: `its certificate cannot be read${leaf === undefined ? '' : `: ${leaf.problem}`}`,
      remedy: 'Look at what answers there.',
    };
  if (proof && result.keyProven !== true)
    return {
      kind: 'failed',
      address,
      problem: 'it shows a certificate and not that it has the key of it',
      remedy: 'Look at what answers there: the handshake was not finished.',
    };
  const { notBefore, notAfter, fingerprint } = leaf.certificate;
  return { kind: 'certificate', address, notBefore, notAfter, fingerprint };
}

function authoritiesOf(result: HandshakeResult): readonly Certificate[] {
  if (!result.ok) return [];
  return result.chain.slice(1).flatMap((sent) => (sent.ok && sent.certificate.isAuthority ? [sent.certificate] : []));
}

function unaddressed({ addresses }: ObservedMachine): Served {
  return {
    kind: 'failed',
    problem: addresses.length === 0 ? 'the Machine has no address' : 'not asked',
    remedy: 'It is looked at again the next time; without an address see what its infrastructure provider says.',
  };
}
