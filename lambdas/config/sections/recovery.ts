import { z } from 'zod';
import type { ExpiredServer } from '../../contracts/order.ts';
import { MAX_EXPIRED_AT_MOST_MS } from '../../identifiers.ts';
import { isDnsName } from '../../names.ts';
import { printable } from '../../printable.ts';
import { BOOTSTRAP_GROUP, DEFAULT_BOOTSTRAP_GROUPS, MAX_BOOTSTRAP_GROUPS, MAX_NODES } from '../../recovery/recovery.ts';
import { formatDuration } from '../duration.ts';
import { instant } from '../time-values.ts';
import { distinct, duration, list, matching, oneCluster, refusing, section, text } from '../values.ts';
import { repeats, type Written } from '../written.ts';

const AUTHORITY_PIN = 'authority';
const FINGERPRINT_PIN = /^sha256:[0-9a-f]{64}$/;

const PIN_FORM = 'authority, or sha256: and the 64 lowercase hexadecimal digits of the certificate';

const MAX_SECONDS = MAX_EXPIRED_AT_MOST_MS / 1_000;

export interface RecoveryEntry {
  readonly cluster: string;
  /** RFC 3339. */
  readonly until: string;
  /** What an expired certificate of the API server must prove. @default none is accepted */
  readonly server?: ExpiredServer | undefined;
  /** Nodes of the control plane whose client certificates may be approved. @default none */
  readonly nodes?: readonly string[] | undefined;
  /** Present with nodes. */
  readonly bootstrapGroups?: readonly string[] | undefined;
  /** Who says so, if a person at the keyboard. @default fleet.yaml */
  readonly by?: string;
}

/** Its end is checked where a clock is available. */
const RecoveryEntry = z
  .strictObject({
    cluster: oneCluster.meta({
      description: 'Id of the cluster in the fleet. Each entry names one cluster.',
      examples: ['berlin-mgmt/eksa-system/berlin-prod'],
    }),
    until: instant.meta({
      description: 'Until when; at most 7 days from now, with nodes at most 24 hours.',
      examples: ['2026-12-05T20:00:00+01:00'],
    }),
    pin: matching(
      PIN_FORM,
      new RegExp(`^${AUTHORITY_PIN}$|${FINGERPRINT_PIN.source}`),
      `pins nothing; write ${PIN_FORM}`,
    )
      .exactOptional()
      .meta({
        description:
          'Which expired certificate of the API server is accepted: authority, one that a valid CA of the cluster issued, or sha256: and the fingerprint of exactly one. Default: none; then write nodes.',
        examples: ['authority'],
      }),
    expiredAtMost: duration((seconds) =>
      seconds > 0 && seconds <= MAX_SECONDS
        ? undefined
        : `is not between 1s and ${formatDuration(MAX_SECONDS)}; pin an older certificate by its fingerprint`,
    )
      .optional()
      .meta({
        description: `With pin authority: how long ago the certificate may have expired. An older one is pinned by its fingerprint. Default: 90d; maximum: ${formatDuration(MAX_SECONDS)}.`,
        examples: ['180d'],
      }),
    nodes: distinct(
      list(
        refusing(text('the name of a Node'), (name) =>
          isDnsName(name) ? undefined : 'is no name that a Node can have',
        ),
      ).max(MAX_NODES),
      'a node appears twice',
    )
      .exactOptional()
      .meta({
        description:
          'Nodes of the control plane whose kubelets may get a client certificate, because theirs has expired. Default: none.',
        examples: [['berlin-cp-1', 'berlin-cp-2']],
      }),
    bootstrapGroups: z
      .array(
        matching(
          'a group of a bootstrap token',
          BOOTSTRAP_GROUP,
          'is no group that a bootstrap token can have; write system:bootstrappers: and a name',
        ),
      )
      .max(MAX_BOOTSTRAP_GROUPS)
      .exactOptional()
      .meta({
        description: `With nodes: the groups of their bootstrap tokens, besides system:bootstrappers. Default: ${DEFAULT_BOOTSTRAP_GROUPS.join(', ')}, that of kubeadm.`,
        examples: [DEFAULT_BOOTSTRAP_GROUPS],
      }),
  })
  .meta({ title: 'Recovery' })
  .transform(
    ({ pin, expiredAtMost, bootstrapGroups = DEFAULT_BOOTSTRAP_GROUPS, ...entry }): RecoveryEntry => ({
      ...entry,
      server: pin === undefined ? undefined : expiredServer(pin, expiredAtMost),
      bootstrapGroups: entry.nodes && bootstrapGroups,
    }),
  );

function expiredServer(pin: string, expiredAtMost: number | undefined): ExpiredServer {
  return pin === AUTHORITY_PIN
    ? { pin: 'authority', expiredAtMostMs: expiredAtMost === undefined ? undefined : expiredAtMost * 1_000 }
    : { pin: 'fingerprint', sha256: pin.slice('sha256:'.length) };
}

/** `recovery`: clusters whose certificates have expired. */
export const Recovery = section(z.array(RecoveryEntry), []).describe(
  'Clusters whose certificates have expired: for a few days certmarshal connects to them although the certificate of their API server has, or for a day it approves client certificates of named nodes of their control plane.',
);

export function recoveryRules({ entries }: Written<typeof Recovery>): void {
  for (const [again, { place }, cluster] of repeats(entries, (entry) => entry.at('cluster').text))
    again.refuse(`"${printable(cluster, 100)}" is the cluster of ${place} too; keep one of the two`, 'cluster');
  for (const entry of entries) {
    const [pin, nodes] = [entry.at('pin'), entry.at('nodes')];
    if (entry.isSection && pin.isMissing && nodes.isMissing)
      entry.refuse(`does nothing; write pin: ${PIN_FORM}; or nodes, or both`);
    if (!entry.at('expiredAtMost').isMissing && pin.text !== AUTHORITY_PIN)
      entry.refuse(
        'works only with pin: authority; a fingerprint is accepted at any age, so remove it',
        'expiredAtMost',
      );
    if (!entry.at('bootstrapGroups').isMissing && nodes.isMissing)
      entry.refuse('works only with nodes; remove it, or write nodes', 'bootstrapGroups');
  }
}
