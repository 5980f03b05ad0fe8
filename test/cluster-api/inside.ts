/**
 * The process that runs the stack inside its network namespace: starts it, tells its parent where it is (one line of JSON on
 * stdout), and stops it when its stdin ends, which it does however the parent ends.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAdmin } from '../control-plane/admin.ts';
import { createAuthority } from '../control-plane/pki.ts';
import { type Daemon, openDaemonGroup, waitUntilReady } from '../control-plane/processes.ts';
import { startControlPlane, type TokenUser } from '../control-plane/start.ts';
import { PATIENCE_MS } from '../patience.ts';
import { answersOk } from '../support/loopback.ts';
import { installDefinitions, managerDefinitions, managerWebhooks, publishedDefinitions } from './definitions.ts';
import { MANAGERS, type ManagerSource } from './managers.ts';
import type { ClusterApiParts } from './parts.ts';
import { relayFrom } from './relay.ts';

/** What the parent wants, as its one argument. */
export interface Wanted {
  readonly parts: ClusterApiParts;
  readonly users: readonly TokenUser[];
}

/** What the parent is told. */
export interface Started {
  /** Port of kube-apiserver in the namespace. */
  readonly apiserverPort: number;
  readonly caPem: string;
  readonly tokens: Readonly<Record<string, string>>;
  /** Path of the socket that connects to ports of the namespace. */
  readonly relay: string;
  /** With the log of each process. */
  readonly directories: { readonly controlPlane: string; readonly managers: string };
  /** By name. */
  readonly pids: Readonly<Record<string, number>>;
}

/** The group of the managers' users. */
const MANAGER_GROUP = 'cluster-api-managers';

const BINDING = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: ${MANAGER_GROUP} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: ${MANAGER_GROUP} }]
`;

async function start({ parts, users }: Wanted, stops: (() => Promise<void>)[]): Promise<Started> {
  const controlPlane = await startControlPlane({
    binaries: parts.binaries,
    users: [...users, ...MANAGERS.map(({ name }) => ({ name, groups: [MANAGER_GROUP] }))],
    controllerManager: false,
  });
  stops.push(() => controlPlane.stop());
  const group = await openDaemonGroup('certmarshal-cluster-api-');
  stops.push(() => group.stop());
  const admin = connectAdmin(controlPlane);

  const authority = await createAuthority('certmarshal test webhooks');
  const serving = await authority.serverCertificate('webhooks');
  const certificates = join(group.directory, 'webhooks');
  mkdirSync(certificates, { mode: 0o700 });
  writeFileSync(join(certificates, 'tls.crt'), serving.certPem);
  writeFileSync(join(certificates, 'tls.key'), serving.keyPem, { mode: 0o600 });
  const webhooksOf = ({ name }: ManagerSource) => ({
    url: `https://127.0.0.1:${portsOf(name).webhook}`,
    caPem: authority.certPem,
  });

  const own = MANAGERS.map((manager) =>
    managerDefinitions(manager, parts.modules[manager.module] ?? '', webhooksOf(manager)),
  );
  const definitions = await Promise.all([...own, publishedDefinitions(parts.modules)]);
  await Promise.all([admin.apply(BINDING), installDefinitions(admin, definitions.flat())]);

  const daemons = MANAGERS.map((manager): Daemon => {
    const { name } = manager;
    const ports = portsOf(name);
    return group.start(name, '/usr/bin/env', [
      // The development provider tells its machines' addresses by the one and wants the other for containers it never makes.
      'POD_IP=127.0.0.1',
      'DOCKER_HOST=unix:///nonexistent.sock',
      parts.managers[name] ?? '',
      `--kubeconfig=${controlPlane.kubeconfig(name)}`,
      '--leader-elect=false',
      // A wake-up that a controller misses when a cluster is no longer paused costs a minute, not the ten of the default.
      '--sync-period=1m',
      `--health-addr=127.0.0.1:${ports.health}`,
      `--diagnostics-address=127.0.0.1:${ports.diagnostics}`,
      '--insecure-diagnostics=true',
      `--webhook-port=${ports.webhook}`,
      `--webhook-cert-dir=${certificates}`,
      ...manager.flags,
    ]);
  });
  await Promise.all(
    daemons.map((daemon) =>
      waitUntilReady(daemon, () => answersOk(`http://127.0.0.1:${portsOf(daemon.name).health}/readyz`), PATIENCE_MS),
    ),
  );
  // Not before: the managers' own first writes would be refused.
  const configurations = await Promise.all(
    MANAGERS.map((manager) => managerWebhooks(manager, parts.modules[manager.module] ?? '', webhooksOf(manager))),
  );
  await Promise.all(
    configurations
      .flat()
      .map((each) => admin.post(`/apis/admissionregistration.k8s.io/v1/${each.kind.toLowerCase()}s`, each)),
  );
  admin.close();

  const relay = join(group.directory, 'relay.sock');
  await relayFrom(relay);
  const names = ['admin', 'certmarshal', ...users.map(({ name }) => name)];
  return {
    apiserverPort: Number(new URL(controlPlane.server).port),
    caPem: controlPlane.caPem,
    tokens: Object.fromEntries(names.map((name) => [name, controlPlane.tokenFor(name)])),
    relay,
    directories: { controlPlane: controlPlane.directory, managers: group.directory },
    pids: {
      etcd: controlPlane.pids.etcd,
      'kube-apiserver': controlPlane.pids.kubeApiserver,
      ...Object.fromEntries(daemons.map(({ name, pid }) => [name, pid])),
    },
  };
}

/** Nobody else is in the namespace, so ports need not be looked for. */
function portsOf(name: string): { readonly webhook: number; readonly health: number; readonly diagnostics: number } {
  const index = MANAGERS.findIndex((manager) => manager.name === name);
  return { webhook: 9441 + index, health: 9541 + index, diagnostics: 9641 + index };
}

const stops: (() => Promise<void>)[] = [];
const ended = new Promise((resolve) => process.stdin.once('close', resolve).resume());
try {
  const started = await start(JSON.parse(process.argv[2] ?? ''), stops);
  process.stdout.write(`${JSON.stringify(started)}\n`);
  await ended;
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
}
for (const stop of stops.toReversed()) await stop();
// The relay still listens.
process.exit();
