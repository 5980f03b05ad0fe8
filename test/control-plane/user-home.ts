import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DaemonGroup, openDaemonGroup } from './processes.ts';
import type { ControlPlane } from './start.ts';

const ENTRY = fileURLToPath(new URL('../../bin/certmarshal.ts', import.meta.url));

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A home as an administrator has it: `certmarshal` and `kubectl` on the PATH, the cluster's kubeconfig in its place and in ADMIN.yaml. */
export interface UserHome {
  readonly directory: string;
  /** Runs a line of bash in it. Never throws for a status. */
  shell(line: string, env?: Readonly<Record<string, string>>): Promise<Ran>;
  remove(): Promise<void>;
}

/** @param adminKubeconfig its text */
export async function makeUserHome(kubectl: string, adminKubeconfig: string): Promise<UserHome> {
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-home-'));
  const binaries = join(directory, 'bin');
  await mkdir(binaries);
  await mkdir(join(directory, '.kube'));
  await symlink(kubectl, join(binaries, 'kubectl'));
  await writeFile(join(binaries, 'certmarshal'), `#!/bin/sh\nexec '${process.execPath}' '${ENTRY}' "$@"\n`);
  await chmod(join(binaries, 'certmarshal'), 0o755);
  for (const file of ['.kube/config', 'ADMIN.yaml']) await writeFile(join(directory, file), adminKubeconfig);
  const own = {
    HOME: directory,
    PATH: `${binaries}:/usr/bin:/bin`,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  };
  return {
    directory,
    shell: (line, env) =>
      new Promise((resolve) => {
        const args = ['--norc', '-euo', 'pipefail', '-c', line];
        execFile('bash', args, { cwd: directory, env: { ...own, ...env } }, (error, stdout, stderr) => {
          resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
        });
      }),
    remove: () => rm(directory, { recursive: true }),
  };
}

/**
 * Starts the controller that writes tokens into Secrets of service accounts. The control plane's own controller manager runs without.
 *
 * @returns what stops it
 */
export async function startTokenController(
  executable: string,
  controlPlane: Pick<ControlPlane, 'directory' | 'caPem' | 'kubeconfig'>,
): Promise<DaemonGroup> {
  const group = await openDaemonGroup('certmarshal-token-controller-');
  const ca = join(group.directory, 'ca.crt');
  await writeFile(ca, controlPlane.caPem);
  group.start('token-controller', executable, [
    `--kubeconfig=${controlPlane.kubeconfig('system:kube-controller-manager')}`,
    '--secure-port=0',
    '--leader-elect=false',
    '--controllers=serviceaccount-token-controller',
    `--service-account-private-key-file=${join(controlPlane.directory, 'service-account.key')}`,
    `--root-ca-file=${ca}`,
  ]);
  return group;
}
