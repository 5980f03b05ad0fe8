import type { ReceivedMessage } from '../../../lambdas/aws/queues.ts';
import { HUB_SIZES } from '../../../lambdas/hub-sizes.ts';

/** The outcomes queue in memory, as report sees it. What was received is invisible for as long as it is deployed. */
export interface MemoryQueue {
  send(body: string): void;
  receive(): Promise<readonly ReceivedMessage[]>;
  remove(messages: readonly ReceivedMessage[]): Promise<void>;
  readonly size: number;
}

/** @param clock milliseconds since the epoch */
export function memoryQueue(clock: () => number): MemoryQueue {
  const messages = new Map<string, { readonly body: string; visibleAt: number }>();
  let sent = 0;
  return {
    send(body) {
      sent += 1;
      messages.set(`m${sent}`, { body, visibleAt: clock() });
    },
    async receive() {
      const visible = [...messages].filter(([, { visibleAt }]) => visibleAt <= clock()).slice(0, 10);
      return visible.map(([id, message]) => {
        message.visibleAt = clock() + HUB_SIZES.outcomes.visibilitySeconds * 1_000;
        return { id, handle: id, body: message.body };
      });
    },
    async remove(received) {
      for (const { handle } of received) messages.delete(handle);
    },
    get size() {
      return messages.size;
    },
  };
}
