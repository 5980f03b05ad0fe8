import { z } from 'zod';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../tables/certificate-classes.ts';
import { kindOf } from './describe-issue.ts';
import { formatDuration } from './duration.ts';
import { duration, list } from './values.ts';

/** Sweeps leave an audit what remains of their time, each minute one turn of a part of the fleet. */
const SHORTEST_SECONDS = 5 * 60;
const LONGEST_SECONDS = 24 * 60 * 60;

const SHARE_FORM = 'write the share of the life that is left, above 0 and at most 1, for example 0.2';

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
const CLASS_NAMES = Object.keys(CERTIFICATE_CLASSES) as CertificateClass[];

/** From when on a certificate is a finding. */
const Level = z.strictObject({
  share: z
    .number({
      error: ({ input }) => (input === undefined ? `missing; ${SHARE_FORM}` : `${SHARE_FORM}, not ${kindOf(input)}`),
    })
    .gt(0, { error: SHARE_FORM })
    .lte(1, { error: ({ input }) => `${String(input)} is more than the whole life; ${SHARE_FORM}` })
    .meta({ description: 'When less than this share of its life is left; 0.2 is a fifth.', examples: [0.2] }),
  floor: duration()
    .prefault('0s')
    .meta({
      description:
        'Or less than this, where that is more; but never more than twice the share, so that a short life does not ring all the time, except for what only people renew. Default: 0s.',
      examples: ['14d'],
    }),
});

/** An entry of `audit.thresholds`. */
export const ThresholdEntry = z.strictObject({
  classes: list(z.enum(CLASS_NAMES))
    .exactOptional()
    .meta({
      description:
        'Classes of certificates that it is for. Default: every class that no other entry or built-in threshold names.',
      examples: [['kubelet-serving']],
    }),
  warning: Level.meta({ description: 'From when on it is a warning.', examples: [{ share: 0.2, floor: '14d' }] }),
  critical: Level.meta({ description: 'From when on it is critical.', examples: [{ share: 0.05, floor: '3d' }] }),
});

/** `audit`: how often certificates are looked at, and when one is a finding. */
export const Audit = z.strictObject({
  every: duration()
    .refine((seconds) => seconds >= SHORTEST_SECONDS && seconds <= LONGEST_SECONDS && seconds % 60 === 0, {
      error: ({ input }) => everyProblem(Number(input)),
    })
    .prefault('15m')
    .meta({
      description:
        'How often each cluster is audited: whole minutes, from 5m to 24h. Clusters take turns. Default: 15m.',
      examples: ['15m'],
    }),
  thresholds: z.array(ThresholdEntry).nullish().meta({
    description:
      'From when on a certificate is a finding. Built in: a fifth of the life or 14 days for a warning, a twentieth or 3 days for critical; less for what kubelets and EKS renew by themselves.',
  }),
});

function everyProblem(seconds: number): string {
  const written = formatDuration(seconds);
  if (seconds < SHORTEST_SECONDS) return `${written} is too often for a whole fleet; write 5m or more`;
  if (seconds > LONGEST_SECONDS) return `${written} is too rare to rely on; write 24h or less`;
  return `${written} is no whole number of minutes; write, for example, ${Math.round(seconds / 60)}m`;
}
