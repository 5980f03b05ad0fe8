import { describe, expect, it } from 'vitest';
import { requireRegion } from '../../../bin/doctor/aws-calls.ts';
import { UsageError } from '../../../bin/exit-codes.ts';

describe('the Region of a command', () => {
  it('is one that a client finds', async () => {
    await expect(requireRegion({ config: { region: async () => 'eu-central-1' } })).resolves.toBeUndefined();
  });

  it('is asked for where no client finds one', async () => {
    const none = requireRegion({ config: { region: () => Promise.reject(new Error('Region is missing')) } });
    await expect(none).rejects.toThrow(UsageError);
    await expect(none).rejects.toThrow(
      'No Region is named. Set AWS_REGION, or region in the profile of AWS_PROFILE, to the Region of the hub',
    );
  });
});
