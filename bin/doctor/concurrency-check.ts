import type { Fleet } from '../../lambdas/config/fleet.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { joined } from '../terminal/words.ts';
import type { AwsCalls } from './aws-calls.ts';
import { type Check, type Fix, failed, passed, warning } from './check.ts';
import { asUser } from './source-checks.ts';

/** plan, report and notify. */
const OTHER_FUNCTIONS = 3;
/** Concurrency that an account must leave unreserved. Source: Lambda API reference, PutFunctionConcurrency. */
const KEPT_FREE = 100;
const USUAL = 1_000;

/** Checks that all functions of the hub can run at once: new accounts begin with as few as 10. */
export function concurrencyCheck({ lanes, hub }: Pick<Fleet, 'lanes' | 'hub'>, aws: AwsCalls, region: string): Check {
  const { reservedConcurrency = 0 } = hub;
  const ofWebhook = hub.webhook ? HUB_SIZES.webhook.concurrency : 0;
  const reserved = (lanes.length + 1) * reservedConcurrency + ofWebhook;
  // The state machine runs at most so many sweeps of all lanes at once.
  const atOnce = Math.max(reserved, HUB_SIZES.sweep.maxConcurrency + ofWebhook) + OTHER_FUNCTIONS;
  const takers = [hub.reservedConcurrency !== undefined && 'hub.reservedConcurrency', hub.webhook && 'hub.webhook'];
  const raise: Fix = {
    text: `Ask for the usual ${USUAL}, which takes AWS a day or two:`,
    command: `aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value ${USUAL} --region ${region}`,
  };
  return {
    id: 'concurrency',
    title: 'functions may run at once',
    object: `lambda:GetAccountSettings ${region}`,
    needs: ['aws-credentials'],
    run: asUser(async (signal) => {
      const most = await aws.concurrency(region, signal);
      if (reserved > 0 && most - reserved < KEPT_FREE)
        return failed(
          `${most} at once, and ${joined(takers, ' with ')} takes ${reserved} of them: Lambda keeps ${KEPT_FREE} free and refuses the deployment`,
          { ...raise, text: `Remove ${joined(takers, ' and ')} from fleet.yaml. Or a${raise.text.slice(1)}` },
        );
      if (most < atOnce)
        return warning(`${most} at once for all functions of the account there, and the hub may take ${atOnce}`, raise);
      return passed(`${most} at once`);
    }),
  };
}
