import type { PageData } from '../cluster-details.ts';
import { byId } from './dom.ts';

export const data: PageData = JSON.parse(byId('data').textContent);
