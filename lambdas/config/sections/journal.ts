import { z } from 'zod';
import type { Contract } from '../../contracts/contract.ts';
import { DEFAULT_JOURNAL } from '../fleet.ts';
import { section, whole, wrong } from '../values.ts';

/** A typing error in mode compliance cannot be undone by anyone: at most ten years. */
const MAX_DAYS = 3_650;
const DAYS_FORM = `write a whole number of days, 1 to ${MAX_DAYS}`;

const { objectLock } = DEFAULT_JOURNAL;

/** `journal`: the record of every decision. */
export const Journal = section(
  z.strictObject({
    objectLock: z
      .union([
        z.strictObject({
          mode: z.enum(['governance', 'compliance']).meta({
            description:
              'governance: removing an object early requires the permission s3:BypassGovernanceRetention. compliance: no one can remove it early, not even the root user of the account.',
            examples: ['governance'],
          }),
          days: whole(DAYS_FORM)
            .min(1, wrong(`keeps nothing; ${DAYS_FORM}`))
            .max(MAX_DAYS, wrong(`days is probably a mistake, and cannot be undone; ${DAYS_FORM}`))
            .meta({ description: 'How long.', examples: [365] }),
          atCreation: z
            .literal(true)
            .exactOptional()
            .describe(
              'Write true if version 0.1 deployed the bucket with objectLock: without it CloudFormation replaces that bucket, with it any other. Default: it is left out.',
            ),
        }),
        z.literal('off'),
      ])
      .prefault(objectLock)
      .describe(
        `S3 Object Lock: journal objects cannot be changed or removed before the retention time ends. off deploys none; S3 never takes it off a bucket that has it. Default: ${objectLock.mode}, ${objectLock.days} days.`,
      ),
  }),
  {},
).describe('The record of every decision.');

export type FleetJournal = Contract<typeof Journal>;
