import { z } from 'zod';
import type { Contract } from '../../contracts/contract.ts';
import { ACCOUNT_ID, REGION_NAME } from '../../identifiers.ts';
import { KMS_KEY_ARN } from '../aws-names.ts';
import { SELF } from '../fleet.ts';
import { matching, section, wrong } from '../values.ts';
import { few, type Written } from '../written.ts';
import type { Discovery } from './discovery.ts';

/** The usual quota of an account. */
const MAX_CONCURRENCY = 1_000;

/** `hub`: options of the stack. */
export const Hub = section(
  z.strictObject({
    account: z
      .string({ error: 'write the account id in quotes' })
      .regex(ACCOUNT_ID, wrong('is not an account id; write twelve digits in quotes'))
      .exactOptional()
      .meta({
        description:
          'The account that certmarshal is deployed to. Needed when other accounts are discovered: they trust its roles.',
        examples: ['999988887777'],
      }),
    region: matching(
      'the name of a Region',
      REGION_NAME,
      'is not the name of a Region; write, for example, eu-central-1',
    )
      .exactOptional()
      .meta({
        description: 'The Region that certmarshal is deployed to. Needed with account.',
        examples: ['eu-central-1'],
      }),
    kmsKeyArn: matching(
      'the ARN of a KMS key',
      KMS_KEY_ARN,
      'is not the ARN of a KMS key; write that of the key itself, for example arn:aws:kms:eu-central-1:111122223333:key/6f1d0c5a-0000-4000-8000-000000000000, not of an alias',
    )
      .exactOptional()
      .describe(
        "KMS key for buckets, secret and logs. Default: AWS's own keys. Its policy must allow CloudWatch Logs.",
      ),
    reservedConcurrency: z
      .int({ abort: true })
      .min(1, wrong('would stop every sweep; write 1 or more'))
      .max(MAX_CONCURRENCY, wrong(`is more than an account has; write ${MAX_CONCURRENCY} or less`))
      .exactOptional()
      .describe(
        'Reserved concurrency of each sweep function, so that nothing else in the account can starve it. Each unit of it sweeps up to 64 clusters at once; more than 40 units are not used.',
      ),
    architecture: z
      .enum(['arm64', 'x86_64'])
      .prefault('arm64')
      .describe(
        'Processor architecture of the functions. x86_64 is for Regions where Lambda has no arm64. Default: arm64.',
      ),
    webhook: z
      .boolean()
      .prefault(false)
      .describe(
        'Sweep a cluster immediately when its API server reports that a kubelet asks for a certificate: an admission webhook in the cluster calls a URL of the hub, which anyone can reach. certmarshal credentials create --webhook prints it. Default: false.',
      ),
  }),
  {},
).describe('Options of the stack that is deployed.');

export type HubOptions = Contract<typeof Hub>;

/** What a deployment must know about its place. */
export function hubRules(hub: Written<typeof Hub>, discovery: Written<typeof Discovery>): void {
  const account = hub.at('account');
  const isPlaced = !account.isMissing && !hub.at('region').isMissing;
  const accounts = discovery.entries.flatMap((entry) =>
    entry.at('accounts').entries.flatMap(({ valid }) => valid ?? []),
  );
  const foreign = [...new Set(accounts)].filter((one) => one !== SELF && one !== account.text);
  if ((!hub.isMissing && !hub.isSection) || isPlaced) return;
  if (foreign.length > 0)
    hub.refuse(
      `write account and region, those that certmarshal is deployed to: the roles in ${few(foreign)} trust its roles by name`,
    );
  else if (account.isMissing !== hub.at('region').isMissing)
    hub.refuse('account and region go together; write both or neither');
}
