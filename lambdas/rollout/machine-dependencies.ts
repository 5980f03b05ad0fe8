import { createHash } from 'node:crypto';
import { machineAddresses } from '../allowed-addresses.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { type ListedKindId, listKind } from '../kubernetes/list.ts';
import { printable } from '../printable.ts';
import { type MachineTrust, readMachineTrust } from '../resources/eks-anywhere.ts';
import { text } from '../resources/fields.ts';
import type { HandshakeResult } from '../tls/handshake.ts';
import type { handshakes } from '../tls/handshakes.ts';
import { readable } from '../x509/certificate.ts';
import { type CertificateBundle, decodeBundle } from '../x509/certificate-bundle.ts';
import type { Reader } from './reader.ts';

/** Kinds of EKS Anywhere that may have any. */
const KINDS: Readonly<Record<string, ListedKindId>> = {
  VSphereDatacenterConfig: 'vspheredatacenterconfigs',
  NutanixDatacenterConfig: 'nutanixdatacenterconfigs',
  VSphereMachineConfig: 'vspheremachineconfigs',
  NutanixMachineConfig: 'nutanixmachineconfigs',
  TinkerbellMachineConfig: 'tinkerbellmachineconfigs',
  SnowMachineConfig: 'snowmachineconfigs',
};

/** Certificates without which no new machine comes up. */
export interface MachineDependency {
  /** `VSphereMachineConfig default/berlin spec.hostOSConfiguration.certBundles`, `vCenter vcenter.example`. */
  readonly where: string;
  /** Its problem may be that EKS Anywhere pins another certificate. */
  readonly bundle: CertificateBundle;
  /** Why vCenter was not seen. */
  readonly unseen?: string;
}

const MAX_OBJECTS = 100;

export interface DependencyOptions {
  /** Absent if vCenter is unreachable. */
  readonly shake: typeof handshakes | undefined;
  readonly reader: Reader;
  readonly signal: AbortSignal;
}

/** Those of a Cluster of EKS Anywhere, and of the objects that it names. Never throws: failed reads are in the reader. */
export async function machineDependencies(
  management: KubernetesClient,
  namespace: string,
  cluster: MachineTrust,
  { shake, reader, signal }: DependencyOptions,
): Promise<readonly MachineDependency[]> {
  const trusts = [cluster];
  for (const { kind, name } of cluster.configs) {
    const id = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
    if (id === undefined) continue;
    await reader.each(listKind(management, id, { namespace, name, signal }), MAX_OBJECTS, (object) => {
      if (text(object, 'metadata', 'name') === name) trusts.push(readMachineTrust(object));
    });
  }
  const pins = shake === undefined ? [] : trusts.flatMap(({ vcenter }) => vcenter ?? []);
  const targets = pins.map(({ server }) => ({ host: server, port: 443 }));
  const shown = await shake?.(targets, { addresses: machineAddresses(management), signal });
  return [
    ...trusts.flatMap(({ bundles }) => bundles.map(({ where, pem }) => ({ where, bundle: decodeBundle(pem) }))),
    ...pins.map(({ server, thumbprint }, index) => ({
      where: printable(`vCenter ${server}`),
      ...pinned(thumbprint, shown?.[index]),
    })),
  ];
}

function pinned(thumbprint: string, result: HandshakeResult | undefined): Pick<MachineDependency, 'bundle' | 'unseen'> {
  if (result?.ok !== true) return { bundle: { certificates: [] }, unseen: result?.failure.message ?? 'not asked' };
  const certificates = result.chain.slice(0, 1);
  const isPinned = readable(certificates).every(
    ({ der }) => createHash('sha1').update(der).digest('hex') === thumbprint.replaceAll(':', '').toLowerCase(),
  );
  const problem = isPinned ? undefined : `its certificate is not the one of spec.thumbprint, ${thumbprint}`;
  return { bundle: { certificates, problem } };
}
