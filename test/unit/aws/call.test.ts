import { describe, expect, it, vi } from 'vitest';
import { callAws, describeCall } from '../../../lambdas/aws/call.ts';
import { awsFailure } from './failure.ts';

const CALL = { object: 'test:Call in 111122223333/eu-central-1' };
const forever = () => new Promise<never>(() => undefined);

describe('callAws', () => {
  it('gives the answer', async () => {
    expect(await callAws(CALL, new AbortController().signal, async () => 7)).toBe(7);
  });

  it('calls nobody after the signal', async () => {
    const send = vi.fn<() => Promise<never>>(forever);
    expect(await awsFailure(callAws(CALL, AbortSignal.abort(), send))).toMatchObject({ kind: 'aborted', ...CALL });
    expect(send).not.toHaveBeenCalled();
  });

  it('waits for nobody after the signal, also not for a call that does not heed it', async () => {
    const mine = new AbortController();
    const call = callAws(CALL, mine.signal, forever);
    mine.abort(new Error('SENTINEL'));
    const error = await awsFailure(call);
    expect(error).toMatchObject({ kind: 'aborted' });
    expect(error.message).not.toContain('SENTINEL');
  });

  it('gives up after ten seconds, and ends the call', async () => {
    const deadline = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(deadline.signal);
    let heard: AbortSignal | undefined;
    const call = callAws(CALL, new AbortController().signal, (signal) => {
      heard = signal;
      return forever();
    });
    deadline.abort();
    expect(await awsFailure(call)).toMatchObject({ kind: 'unavailable', problem: 'no answer within 10 s' });
    expect(timeout).toHaveBeenCalledWith(10_000);
    expect(heard?.aborted).toBe(true);
    timeout.mockRestore();
  });
});

it('describes a call', () => {
  const scope = { account: '111122223333', region: 'eu-central-1' };
  expect(describeCall('eks:ListClusters', scope)).toBe('eks:ListClusters in 111122223333/eu-central-1');
});
