import { createHash } from 'node:crypto';
import { machineAddresses } from '../allowed-addresses.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { LISTED_KINDS, type ListedKindId, listKind } from '../kubernetes/list.ts';
import { printable } from '../printable.ts';
import { readMachineTrust } from '../resources/eks-anywhere.ts';
import { text } from '../resources/fields.ts';
import { keysOf } from '../tables/keys.ts';
import type { handshakes } from '../tls/handshakes.ts';
import { readable } from '../x509/certificate.ts';
import { type CertificateBundle, decodeBundle } from '../x509/certificate-bundle.ts';
import type { Reader } from './reader.ts';

const MAX_OBJECTS = 100;
const KIND = /^(?:(?:VSphere|Nutanix)Datacenter|(?:VSphere|Tinkerbell|Snow)Machine)Config$/;
const RESOURCES = new Map<string, ListedKindId>(keysOf(LISTED_KINDS).map((id) => [id, id]));

/**
 * Certificates without which no new machine comes up: of a Cluster of EKS Anywhere and what it names, and of vCenter if
 * it answers, with a problem if another one is pinned. Never throws: failed reads are in the reader.
 */
export async function machineDependencies(
  management: KubernetesClient,
  cluster: unknown,
  reader: Reader,
  shake: typeof handshakes | undefined,
  signal: AbortSignal,
): Promise<readonly { readonly where: string; readonly bundle: CertificateBundle }[]> {
  const namespace = text(cluster, 'metadata', 'namespace');
  const trusts = [readMachineTrust(cluster)];
  for (const { kind, name } of trusts.flatMap(({ references }) => references)) {
    const id = KIND.test(kind) ? RESOURCES.get(`${kind.toLowerCase()}s`) : undefined;
    if (id === undefined) continue;
    const pages = listKind(management, id, { namespace, name, signal });
    await reader.each(pages, MAX_OBJECTS, (object) => {
      if (text(object, 'metadata', 'name') === name) trusts.push(readMachineTrust(object));
    });
  }
  const pins = trusts.flatMap(({ vcenter }) => vcenter);
  const targets = pins.map(({ server }) => ({ host: server, port: 443 }));
  const shown = await shake?.(targets, { addresses: machineAddresses(management), signal });
  return [
    ...trusts.flatMap(({ bundles }) => bundles.map(({ where, pem }) => ({ where, bundle: decodeBundle(pem) }))),
    ...pins.flatMap(({ server, thumbprint }, index) => {
      const result = shown?.[index];
      if (result?.ok !== true) return [];
      const certificates = result.chain.slice(0, 1);
      const isPinned = readable(certificates).every(
        ({ der }) => createHash('sha1').update(der).digest('hex') === thumbprint.replaceAll(':', '').toLowerCase(),
      );
      const problem = isPinned ? undefined : `its certificate is not the one of spec.thumbprint, ${thumbprint}`;
      return [{ where: printable(`vCenter ${server}`), bundle: { certificates, problem } }];
    }),
  ];
}
