import type { AwsCalls } from './aws-call.ts';

/** Everything that the functions wrote, by log group. */
export async function logsOf(calls: AwsCalls): Promise<ReadonlyMap<string, string>> {
  const { logGroups } = await calls.json('logs', 'Logs_20140328.DescribeLogGroups');
  const names = Array.isArray(logGroups) ? logGroups.map(({ logGroupName }) => String(logGroupName)) : [];
  const logs = new Map<string, string>();
  for (const logGroupName of names) {
    const lines: string[] = [];
    let nextToken: unknown;
    do {
      const page = await calls.json('logs', 'Logs_20140328.FilterLogEvents', { logGroupName, nextToken });
      if (Array.isArray(page['events'])) lines.push(...page['events'].map(({ message }) => String(message)));
      nextToken = page['nextToken'];
    } while (nextToken !== undefined && nextToken !== null);
    logs.set(logGroupName, lines.join('\n'));
  }
  return logs;
}
