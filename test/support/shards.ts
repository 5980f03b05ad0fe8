import { S3Client } from '@aws-sdk/client-s3';
import { createS3State } from '../../lambdas/aws/s3-state.ts';
import type { SweepItem } from '../../lambdas/contracts/order.ts';
import type { SweepOutcome } from '../../lambdas/contracts/outcome.ts';
import { readOutcomes } from '../../lambdas/fleet/outcomes.ts';
import { ordersKey, outcomesKey } from '../../lambdas/fleet/state-keys.ts';
import { tickAt } from '../../lambdas/fleet/tick.ts';
import { type AwsUser, awsClientConfig } from '../fleet/aws/aws-environment.ts';
import type { SimulatedAws } from '../fleet/aws/simulated-aws.ts';

/** What the state machine passes to a sweep. */
export interface SweepEvent {
  readonly item: SweepItem;
  readonly began: string;
}

/** Stands for plan and report: orders of the default lane in the bucket `state`, and what came of them. */
export interface Shards {
  /** Each call makes a shard of its own. */
  order(...orders: readonly object[]): Promise<SweepEvent>;
  outcomes(event: SweepEvent): Promise<readonly SweepOutcome[]>;
}

export function createShards(aws: SimulatedAws, hub: AwsUser & { readonly region: string }): Shards {
  const bucket = 'state';
  const lane = 'default';
  aws.s3.createBucket(hub, bucket);
  const state = createS3State({ client: new S3Client(awsClientConfig(aws, hub)), bucket });
  let shard = 0;
  return {
    async order(...orders) {
      const tick = tickAt(Date.now(), Date.now());
      const item = { function: 'sweep', lane, tick, object: shard, shard };
      const shards = [{ shard, orders: orders.map((order) => ({ facts: {}, tick, deadlineMs: 45_000, ...order })) }];
      shard += 1;
      const key = ordersKey(lane, tick, item.object);
      await state.put(key, { version: 5, lane, tick, shards }, undefined, AbortSignal.timeout(10_000));
      return { item, began: new Date().toISOString() };
    },
    async outcomes({ item }) {
      const stored = await state.get(outcomesKey(lane, item.tick, item.shard), AbortSignal.timeout(10_000));
      return readOutcomes(stored?.value).map((outcome) => {
        if (!outcome.ok) throw new Error(outcome.problem);
        return outcome.value;
      });
    },
  };
}
