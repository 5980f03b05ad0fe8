import { z } from 'zod';
import type { Contract } from '../../contracts/contract.ts';
import { section, whole, wrong } from '../values.ts';

/** A slip of the keyboard in mode compliance cannot be undone by anybody: ten years. */
const MAX_DAYS = 3_650;
const DAYS_FORM = `write a whole number of days, 1 to ${MAX_DAYS}`;

/** `journal`: the record of every decision. */
export const Journal = section(
  z.strictObject({
    objectLock: z
      .strictObject({
        mode: z.enum(['governance', 'compliance']).meta({
          description:
            'governance: only who has the right s3:BypassGovernanceRetention can remove it before its time. compliance: nobody can, not even the account.',
          examples: ['governance'],
        }),
        days: whole(DAYS_FORM)
          .min(1, wrong(`keeps nothing; ${DAYS_FORM}`))
          .max(MAX_DAYS, wrong(`days can hardly be meant, and are not taken back; ${DAYS_FORM}`))
          .meta({ description: 'How long.', examples: [365] }),
      })
      .exactOptional()
      .describe(
        'S3 Object Lock: nothing that was written to the journal can be changed or removed before its time. Default: none; the bucket keeps every version all the same.',
      ),
  }),
  {},
).describe('The record of every decision.');

export type FleetJournal = Contract<typeof Journal>;
