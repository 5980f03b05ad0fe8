import { Logger } from '@aws-lambda-powertools/logger';
import { printable } from '../printable.ts';
import type { Service } from './metric-names.ts';

/** Longer than any message of ours; what a cluster makes longer is cut. */
const LONGEST_TEXT = 2_000;

/**
 * JSON lines with the names of the function and its request. Text from a cluster can reach any field, so every string of a line
 * is made harmless here, whoever logs it. The event is never logged.
 */
export function createLogger(service: Service): Logger {
  return new Logger({ serviceName: service, jsonReplacerFn: harmless });
}

function harmless(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return key === 'stack'
    ? value
        .split('\n', 30)
        .map((line) => printable(line, LONGEST_TEXT))
        .join('\n')
    : printable(value, LONGEST_TEXT);
}
