import { hostname, userInfo } from 'node:os';
import type { Command } from 'commander';
import { isDnsName } from '../../lambdas/names.ts';
import { printable } from '../../lambdas/printable.ts';
import {
  BOOTSTRAP_GROUP,
  DEFAULT_BOOTSTRAP_GROUPS,
  MAX_BOOTSTRAP_GROUPS,
  MAX_NODES,
  MAX_RECOVERY_AT_KEYBOARD_MS,
  type Recovery,
} from '../../lambdas/recovery/recovery.ts';
import { instant, MINUTE_MS } from '../../lambdas/time.ts';
import { repeatable } from '../command.ts';
import { UsageError } from '../exit-codes.ts';

export interface RunRecoveryOptions {
  readonly recover?: readonly string[];
  readonly until?: string;
  readonly bootstrapGroup?: readonly string[];
}

export function withRecovery(command: Command): Command {
  return command
    .option(
      '--recover <node...>',
      `also approve client certificates of the kubelets of these control plane Nodes, whose own have expired; at most ${MAX_NODES}`,
    )
    .option('--until <time>', 'with --recover: until then, at most an hour from now; RFC 3339')
    .option(
      '--bootstrap-group <group>',
      'with --recover: group of the bootstrap tokens of the Nodes; repeatable; default: that of kubeadm',
      repeatable,
    );
}

/**
 * What the options say about client certificates; undefined if they do not.
 *
 * @param now milliseconds since the epoch
 * @throws UsageError with all problems of the options
 */
export function recoveryOf({ recover, until, bootstrapGroup }: RunRecoveryOptions, now: number): Recovery | undefined {
  if (recover === undefined) {
    if (until === undefined && bootstrapGroup === undefined) return undefined;
    throw new UsageError('--until and --bootstrap-group go with --recover: name the Nodes, or leave them out.');
  }
  const nodes = [...new Set(recover)];
  const leftMs = (instant(until) ?? Number.NaN) - now;
  const groups = bootstrapGroup ?? DEFAULT_BOOTSTRAP_GROUPS;
  const problems = [
    nodes.length > MAX_NODES ? `--recover takes at most ${MAX_NODES} names of Nodes; got ${nodes.length}` : undefined,
    ...nodes
      .filter((node) => !isDnsName(node))
      .map((node) => `--recover "${printable(node, 100)}" is not a name that a Node can have`),
    leftMs > 0 && leftMs <= MAX_RECOVERY_AT_KEYBOARD_MS
      ? undefined
      : `--until takes a time at most an hour from now, for example ${new Date(now + 30 * MINUTE_MS).toISOString()}; got ${until === undefined ? 'none' : printable(until, 60)}`,
    groups.length > MAX_BOOTSTRAP_GROUPS || !groups.every((group) => BOOTSTRAP_GROUP.test(group))
      ? `--bootstrap-group takes a group that a bootstrap token can have, system:bootstrappers: and a name; at most ${MAX_BOOTSTRAP_GROUPS}`
      : undefined,
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0 || until === undefined) throw new UsageError(problems.join('\n'));
  return { nodes, until, bootstrapGroups: groups, by: `${userInfo().username} on ${hostname()}` };
}

/** So that no one approves these without knowing it. */
export function recoveryNotice({ nodes, until }: Recovery, yes: boolean): string {
  return `! Client certificates of kubelets ${yes ? 'are' : 'would be'} approved until ${until} for ${nodes.join(', ')}: only where a Machine or instance of the control plane proves the Node, and its certificate has expired.\n`;
}
