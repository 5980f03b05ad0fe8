import { z } from 'zod';
import type { Contract } from '../../contracts/contract.ts';
import type { ExpiredServer } from '../../contracts/order.ts';
import { CLUSTER_ID, MAX_EXPIRED_AT_MOST_MS } from '../../identifiers.ts';
import { printable } from '../../printable.ts';
import { formatDuration } from '../duration.ts';
import { instant } from '../time-values.ts';
import { duration, matching, section } from '../values.ts';
import { repeats, type Written } from '../written.ts';

const AUTHORITY_PIN = 'authority';
const FINGERPRINT_PIN = /^sha256:[0-9a-f]{64}$/;

const PIN_FORM = 'authority, or sha256: and the 64 lowercase hexadecimal digits of the certificate';

const MAX_SECONDS = MAX_EXPIRED_AT_MOST_MS / 1_000;

/** An entry of `recovery`. Its end is checked where a clock is available. */
const RecoveryEntry = z
  .strictObject({
    cluster: matching(
      'the id of a cluster, as certmarshal report shows it',
      CLUSTER_ID,
      'is not the id of a cluster; write one cluster, as certmarshal report shows it, without "*"',
    ).meta({
      description: 'Id of the cluster in the fleet. Each entry names one cluster.',
      examples: ['berlin-mgmt/eksa-system/berlin-prod'],
    }),
    until: instant.meta({
      description: 'Until when; at most 7 days from now.',
      examples: ['2026-12-05T20:00:00+01:00'],
    }),
    pin: matching(
      PIN_FORM,
      new RegExp(`^${AUTHORITY_PIN}$|${FINGERPRINT_PIN.source}`),
      `pins nothing; write ${PIN_FORM}`,
    ).meta({
      description:
        'Which expired certificate is accepted: authority, one that a valid CA of the cluster issued, or sha256: and the fingerprint of exactly one.',
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
  })
  .meta({ title: 'Recovery' })
  .transform(({ cluster, until, pin, expiredAtMost }) => {
    const server: ExpiredServer =
      pin === AUTHORITY_PIN
        ? { pin: 'authority', expiredAtMostMs: expiredAtMost === undefined ? undefined : expiredAtMost * 1_000 }
        : { pin: 'fingerprint', sha256: pin.slice('sha256:'.length) };
    return { cluster, until, server };
  });

/** `recovery`: clusters that are entered although the certificate of their API server has expired. */
export const Recovery = section(z.array(RecoveryEntry), []).describe(
  'Clusters that certmarshal connects to although the certificate of their API server has expired, for a few days, until it is renewed.',
);

export type ExpiredServerOfCluster = Contract<typeof RecoveryEntry>;

export function recoveryRules({ entries }: Written<typeof Recovery>): void {
  for (const [again, { place }, cluster] of repeats(entries, (entry) => entry.at('cluster').text))
    again.refuse(`"${printable(cluster, 100)}" is the cluster of ${place} too; keep one of the two`, 'cluster');
  for (const entry of entries) {
    const { pin = AUTHORITY_PIN, expiredAtMost } = entry.pick('pin', 'expiredAtMost') ?? {};
    if (pin !== AUTHORITY_PIN && expiredAtMost !== undefined)
      entry.refuse(
        'works only with pin: authority; a fingerprint is accepted at any age, so remove it',
        'expiredAtMost',
      );
  }
}
